import HTTPSemantics
import HTTPTransports

/// A name of a host, or with `*.` in front all names below it.
package struct HostPattern: Sendable, Hashable {
  private let name: String
  private let isSuffix: Bool

  /// Parses a pattern; returns `nil` for a text that is none.
  package init?(_ text: String) {
    isSuffix = text.hasPrefix("*.")
    let rest = isSuffix ? String(text.dropFirst(2)) : text
    guard !rest.contains("*"), let url = try? NormalizedURL("https://\(rest)/"), url.port == 443,
      url.target == "/"
    else { return nil }
    name = NetworkSetup.withoutDot(url.host)
  }

  /// Returns whether the pattern stands for a host, with a dot at its end or without.
  package func matches(_ host: String) -> Bool {
    let host = NetworkSetup.withoutDot(host)
    return isSuffix ? host.hasSuffix(".\(name)") : host == name
  }
}
