/// A reference as a document has it, not resolved yet.
package struct Reference: Sendable, Hashable {
  /// What a document does with the URL.
  package enum Kind: Sendable, Hashable {
    /// Another document, which the reader may open.
    case link
    /// A part of the document: it is not shown properly without it.
    case requisite
  }

  /// What the document does with it.
  package var kind: Kind
  /// The text, with the spaces at both ends and all tabs and line ends removed, as browsers do.
  package var text: String

  package init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }
}

package struct References: Sendable, Hashable {
  /// The limit of the number of references that are taken from one document.
  package static let maximumCount = 100_000
  /// The limit of the length of a reference, in bytes. Longer ones are `data:` URLs, as a rule.
  package static let maximumLength = 8 * 1024

  /// The URL in the first `base` element, which the others are relative to.
  package var base: String?
  /// The references, in the order of the document.
  package private(set) var all: [Reference] = []
  /// Whether the document asks that no link of it is followed (`<meta name=robots>`).
  package var forbidsFollowing = false
  /// Why not all references of the document are here; `nil` if they are, but for ``longKinds``.
  package var cut: String?
  /// The kinds of the references that are left out because they are too long.
  package private(set) var longKinds: Set<Reference.Kind> = []

  package init() {}

  /// Adds a reference, unless it is empty, too long, one too many, or within the document itself.
  package mutating func add(_ kind: Reference.Kind, _ text: some StringProtocol) {
    guard text.utf8.count <= Self.maximumLength else {
      if Self.mayLeadElsewhere(text) { longKinds.insert(kind) }
      return
    }
    let bare = Self.trimmed(text)
    guard !bare.isEmpty, bare.utf8.first != UInt8(ascii: "#") else { return }
    guard all.count < Self.maximumCount else {
      cut = cut ?? "it has more than \(Self.maximumCount) links"
      return
    }
    all.append(Reference(kind, bare))
  }

  /// Returns whether a URL may be that of another resource, to judge by its beginning: it is no
  /// fragment, and has no scheme such as `data`.
  private static func mayLeadElsewhere(_ text: some StringProtocol) -> Bool {
    let start = trimmed(text.prefix(32)).lowercased()
    let scheme = start.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
    if start[scheme.endIndex...].first == ":" { return scheme == "http" || scheme == "https" }
    return start.first != "#"
  }

  /// Adds the URLs of `srcset`: candidates with a comma between them, each a URL and descriptors
  /// (HTML, section 4.8.4.2.1). A URL may have commas, but does not end in one.
  package mutating func add(sourceSet text: String) {
    var rest = text.utf8[...]
    while true {
      rest = rest.drop { isSpace($0) || $0 == comma }
      if rest.isEmpty { return }
      let url = rest.prefix { !isSpace($0) }
      rest = rest.dropFirst(url.count)
      let end = url.lastIndex { $0 != comma }.map(url.index(after:)) ?? url.startIndex
      add(.requisite, Substring(url[..<end]))
      if url.last != comma { rest = Self.afterDescriptors(rest) }
    }
  }

  package mutating func add(style text: [UInt8]) {
    for reference in StyleScanner.references(in: text) { add(.requisite, reference) }
  }

  /// Returns what follows the next comma that is not in parentheses.
  private static func afterDescriptors(_ text: Substring.UTF8View) -> Substring.UTF8View {
    var depth = 0
    let end = text.firstIndex { byte in
      if byte == UInt8(ascii: "(") { depth += 1 }
      if byte == UInt8(ascii: ")") { depth -= 1 }
      return byte == comma && depth <= 0
    }
    return text[(end ?? text.endIndex)...]
  }

  /// Returns a URL as the URL standard of browsers reads it.
  package static func trimmed(_ text: some StringProtocol) -> String {
    let bytes = text.utf8.filter { $0 != 9 && $0 != 10 && $0 != 13 }
    guard let start = bytes.firstIndex(where: { $0 > 0x20 }),
      let end = bytes.lastIndex(where: { $0 > 0x20 })
    else { return "" }
    return String(decoding: bytes[start...end], as: UTF8.self)
  }
}

private let comma = UInt8(ascii: ",")

/// Returns whether a byte is white space in HTML and CSS.
func isSpace(_ byte: UInt8) -> Bool {
  byte == 0x20 || byte == 9 || byte == 10 || byte == 12 || byte == 13
}
