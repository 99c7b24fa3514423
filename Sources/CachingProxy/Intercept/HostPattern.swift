import HTTPSemantics

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
    name = url.host
  }

  /// Returns whether the pattern stands for a host.
  package func matches(_ host: String) -> Bool {
    isSuffix ? host.hasSuffix(".\(name)") : host == name
  }
}
