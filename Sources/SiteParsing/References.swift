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
  /// The text without its fragment, and, as browsers do, without spaces at both ends, tabs and line
  /// ends.
  package var text: String

  package init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }
}

package struct References: Sendable, Hashable {
  /// The limit of the number of references of one kind that are taken from one document.
  package static let maximumCount = 100_000
  /// The limit of the length of a reference, in bytes. Longer ones are `data:` URLs, as a rule.
  package static let maximumLength = 8 * 1024

  /// The URL in the first `base` element, which the others are relative to.
  package var base: String?
  /// The references, in the order of the document.
  package private(set) var all: [Reference] = []
  /// Whether the document asks that no link of it is followed (`<meta name=robots>`).
  package var forbidsFollowing = false
  /// Why the document was not read to its end; `nil` if it was.
  package var cut: String?
  /// The beginnings of the references that are left out because they are too long. They have the
  /// host.
  package private(set) var long: Set<Reference> = []
  /// The kinds of which there are more references.
  package private(set) var crowdedKinds: Set<Reference.Kind> = []
  private var counts: [Reference.Kind: Int] = [:]

  package init() {}

  /// Adds a reference, unless it is empty, too long, one too many, or within the document itself.
  package mutating func add(_ kind: Reference.Kind, _ text: some StringProtocol) {
    let bare = Self.trimmed(bytes: text.utf8.prefix { $0 != UInt8(ascii: "#") })
    guard !bare.isEmpty else { return }
    guard bare.utf8.count <= Self.maximumLength else {
      long.insert(Reference(kind, String(decoding: bare.utf8.prefix(512), as: UTF8.self)))
      return
    }
    guard counts[kind, default: 0] < Self.maximumCount else {
      crowdedKinds.insert(kind)
      return
    }
    counts[kind, default: 0] += 1
    all.append(Reference(kind, bare))
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
  package static func trimmed(_ text: some StringProtocol) -> String { trimmed(bytes: text.utf8) }

  private static func trimmed(bytes: some Sequence<UInt8>) -> String {
    let bytes = bytes.filter { $0 != 9 && $0 != 10 && $0 != 13 }
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
