/// Takes the references out of HTML elements.
final class ElementReader {
  var references = References()

  /// The attributes whose URL is a part of the document, by element. `use` and `image` are of SVG.
  private static let requisites: [String: [String]] = [
    "img": ["src"], "source": ["src"], "video": ["src", "poster"], "audio": ["src"],
    "track": ["src"], "script": ["src"], "iframe": ["src"], "frame": ["src"], "embed": ["src"],
    "object": ["data"], "use": ["href", "xlink:href"], "image": ["href", "xlink:href"],
    "feimage": ["href", "xlink:href"], "body": ["background"], "table": ["background"],
    "tr": ["background"], "td": ["background"], "th": ["background"],
  ]
  /// The relations of a `link` to a part of the document.
  private static let partRelations: Set<String> = [
    "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon",
    "preload", "modulepreload", "manifest",
  ]
  /// The relations of a `link` to no document that a reader opens.
  private static let ignoredRelations: Set<String> = [
    "dns-prefetch", "preconnect", "pingback", "nofollow",
  ]

  /// Takes the references of one element.
  ///
  /// - Parameters:
  ///   - name: The element, in lower case.
  ///   - values: The attributes by their names in lower case.
  func read(_ name: String, _ values: [String: String]) {
    for attribute in Self.requisites[name] ?? [] {
      if let value = values[attribute] { references.add(.requisite, value) }
    }
    for attribute in ["srcset", "imagesrcset"] {
      if let value = values[attribute] { references.add(sourceSet: value) }
    }
    if let style = values["style"] { references.add(style: Array(style.utf8)) }
    switch name {
    case "a", "area":
      guard !words(values["rel"]).contains("nofollow") else { return }
      if let value = values["href"] ?? values["xlink:href"] { references.add(.link, value) }
    case "link": readLink(values)
    case "input":
      if values["type"]?.lowercased() == "image", let source = values["src"] {
        references.add(.requisite, source)
      }
    case "base":
      guard references.base == nil, let base = values["href"].map({ References.trimmed($0) })
      else { return }
      let limit = References.maximumLength
      guard base.utf8.count <= limit else {
        references.cut = references.cut ?? "it has a base of more than \(limit) bytes"
        return
      }
      references.base = base
    case "meta": readMeta(values)
    default: break
    }
  }

  private func readLink(_ values: [String: String]) {
    guard let target = values["href"] else { return }
    let relations = words(values["rel"])
    if !relations.isDisjoint(with: Self.partRelations) {
      references.add(.requisite, target)
    } else if relations.isDisjoint(with: Self.ignoredRelations), !relations.isEmpty {
      references.add(.link, target)
    }
  }

  private func readMeta(_ values: [String: String]) {
    guard let content = values["content"] else { return }
    if values["name"]?.lowercased() == "robots" {
      let rules = content.lowercased().split { $0 == "," || $0 == " " }
      if rules.contains("nofollow") || rules.contains("none") {
        references.forbidsFollowing = true
      }
    }
    if values["http-equiv"]?.lowercased() == "refresh", let target = Self.refreshTarget(content) {
      references.add(.link, target)
    }
  }

  /// Returns the URL of a refresh such as `5; url='next.html'` (HTML, section 4.2.5.3): after the time,
  /// a space is enough.
  private static func refreshTarget(_ content: String) -> Substring? {
    let afterTime = content.drop { $0.isWhitespace }.drop { "0123456789.".contains($0) }
    guard let separator = afterTime.first, ";,".contains(separator) || separator.isWhitespace
    else { return nil }
    var rest = afterTime.drop { $0.isWhitespace }
    if let separator = rest.first, ";,".contains(separator) { rest = rest.dropFirst() }
    rest = rest.drop { $0.isWhitespace }
    if rest.prefix(3).lowercased() == "url" {
      let afterName = rest.dropFirst(3).drop { $0.isWhitespace }
      if afterName.first == "=" { rest = afterName.dropFirst().drop { $0.isWhitespace } }
    }
    guard let quote = rest.first, quote == "\"" || quote == "'" else { return rest }
    return rest.dropFirst().prefix { $0 != quote }
  }

  private func words(_ text: String?) -> Set<String> {
    Set((text ?? "").lowercased().split { $0.isWhitespace }.map(String.init))
  }
}
