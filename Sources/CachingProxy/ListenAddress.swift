/// The address at which a server listens: a host and a port.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
  /// A numeric address or a name; an IPv6 address without its brackets.
  package var host: String

  /// The port; 0 lets the system choose a free one.
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Parses `127.0.0.1:8080`, `localhost:0` or `[::1]:8080`; returns `nil` for other texts.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(digits)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      // Without brackets the end of an IPv6 address is ambiguous.
      return nil
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.init(host: String(host), port: port)
  }

  /// The address as it is typed; an IPv6 address with its brackets.
  package var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
