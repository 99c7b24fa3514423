import CachingProxy
import CommandLineTools
import HTTPSemantics
import HTTPTransports

// The kinds of values of the options of `serve`.

extension ValueKind where Value == ListenAddress {
  /// A host and a port.
  static var listenAddress: ValueKind {
    ValueKind("HOST:PORT") { argument throws(InvalidValue) in
      guard let address = argument.text.flatMap({ ListenAddress($0) }) else {
        throw InvalidValue(expected: "a host and a port such as 127.0.0.1:8080 or [::1]:8080")
      }
      return address
    }
  }
}

extension ValueKind where Value == NormalizedURL {
  /// The URL of a server, optionally with a path.
  static var origin: ValueKind {
    ValueKind("URL") { argument throws(InvalidValue) in
      guard let text = argument.text, let url = try? NormalizedURL(text), !text.contains("@"),
        !url.target.contains("?")
      else {
        throw InvalidValue(
          expected: "the http or https URL of a server such as http://localhost:3000, without "
            + "credentials and query")
      }
      return url
    }
  }
}

extension ValueKind where Value == String {
  /// The name or address of a host, without a port.
  static var hostName: ValueKind {
    ValueKind("NAME") { argument throws(InvalidValue) in
      guard let text = argument.text, let url = try? NormalizedURL("http://\(text)/"),
        url.host == text.lowercased()
      else {
        throw InvalidValue(expected: "the name of a host such as app.test, without a port")
      }
      return url.host
    }
  }
}

extension ValueKind where Value == HostPattern {
  /// The name of a host, or `*.` and a name.
  static var hostPattern: ValueKind {
    ValueKind("HOST") { argument throws(InvalidValue) in
      guard let pattern = argument.text.flatMap({ HostPattern($0) }) else {
        throw InvalidValue(
          expected: "a host such as bank.example or *.bank.example, without a port")
      }
      return pattern
    }
  }
}

extension ValueKind where Value == UInt16 {
  /// A port.
  static var port: ValueKind {
    ValueKind("PORT") { argument throws(InvalidValue) in
      guard let port = argument.text.flatMap({ UInt16($0) }), port > 0 else {
        throw InvalidValue(expected: "a port from 1 to 65535")
      }
      return port
    }
  }
}

extension ValueKind where Value == String {
  /// `HOST:PORT:ADDRESS[,ADDRESS]...`, in curl's syntax (CURLOPT_RESOLVE(3)).
  static var resolve: ValueKind {
    ValueKind("HOST:PORT:ADDRESS") { argument throws(InvalidValue) in
      guard let text = argument.text, isResolve(text) else {
        throw InvalidValue(
          expected: "a host, a port and an address such as a.test:443:127.0.0.1; * is any host")
      }
      return text
    }
  }

  private static func isResolve(_ text: String) -> Bool {
    // A plus sign lets the address expire.
    let parts = text.drop { $0 == "+" }.split(separator: ":", maxSplits: 2)
    guard parts.count == 3, UInt16(parts[1]) != nil else { return false }
    return parts[2].split(separator: ",", omittingEmptySubsequences: false).allSatisfy { part in
      part.hasPrefix("[") && part.hasSuffix("]")
        ? IPAddress(String(part.dropFirst().dropLast())) != nil : IPAddress(String(part)) != nil
    }
  }
}
