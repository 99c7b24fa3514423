import CachingProxy
import CommandLineTools
import HTTPSemantics
import HTTPTransports

// The kinds of values of the options of `serve`.

extension ValueKind where Value == ListenAddress {
  static var listenAddress: ValueKind {
    ValueKind(
      "HOST:PORT", expected: "a host and a port such as 127.0.0.1:8080 or [::1]:8080"
    ) { ListenAddress($0) }
  }
}

extension ValueKind where Value == NormalizedURL {
  /// The URL of a server, optionally with a path.
  static var origin: ValueKind {
    ValueKind(
      "URL",
      expected: "the http or https URL of a server such as http://localhost:3000, without "
        + "credentials, query and fragment"
    ) { text in
      guard let url = try? NormalizedURL(text), !text.contains("@"), !text.contains("#"),
        !url.target.contains("?")
      else { return nil }
      return url
    }
  }
}

extension ValueKind where Value == String {
  /// The name or address of a host, without a port.
  static var hostName: ValueKind {
    ValueKind("NAME", expected: "the name of a host such as app.test, without a port") { text in
      guard let url = try? NormalizedURL("http://\(text)/"), url.host == text.lowercased()
      else { return nil }
      return url.host
    }
  }

  /// `HOST:PORT:ADDRESS[,ADDRESS]...`, in curl's syntax (CURLOPT_RESOLVE(3)).
  static var resolve: ValueKind {
    ValueKind(
      "HOST:PORT:ADDRESS",
      expected: "a host, a port and an address such as a.test:443:127.0.0.1; * is any host"
    ) { isResolve($0) ? $0 : nil }
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

extension ValueKind where Value == HostPattern {
  /// The name of a host, or `*.` and a name.
  static var hostPattern: ValueKind {
    ValueKind(
      "HOST", expected: "a host such as bank.example or *.bank.example, without a port"
    ) { HostPattern($0) }
  }
}

extension ValueKind where Value == UInt16 {
  static var port: ValueKind {
    ValueKind("PORT", expected: "a port from 1 to 65535") { text in
      guard let port = UInt16(text), port > 0 else { return nil }
      return port
    }
  }
}
