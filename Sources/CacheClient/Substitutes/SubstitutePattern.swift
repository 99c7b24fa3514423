enum SubstitutePattern: Sendable, Hashable {
  case exact(NormalizedURL)
  /// All targets of an origin with this beginning and a path after it.
  case below(NormalizedURL.Origin, prefix: [UInt8])
  /// All targets of an origin with these pieces in this order, and anything between them.
  case pieces(NormalizedURL.Origin, [[UInt8]])

  private static let star = UInt8(ascii: "*")

  /// - Throws: the problem, in words.
  init(_ rule: SubstituteRule, at place: SubstitutePlace) throws(SubstituteError) {
    let url: NormalizedURL
    do throws(InvalidURL) {
      url = try NormalizedURL(rule.pattern)
    } catch {
      // Without a table, the subject is the URL already.
      let subject = place.subject == error.url ? "" : "\(error.url): "
      if error.code == .invalidHost, Self.hasStarInHost(error.url) {
        throw SubstituteError(
          place, subject + "the host has a *", remedy: "write a rule for each host")
      }
      throw SubstituteError(place, subject + error.reason, remedy: error.remedy)
    }
    let pieces = url.target.utf8.split(separator: Self.star, omittingEmptySubsequences: false)
      .map(Array.init)
    if case .folder = rule.target {
      guard pieces.count == 2, pieces[1].isEmpty, pieces[0].last == UInt8(ascii: "/"),
        !pieces[0].contains(UInt8(ascii: "?"))
      else {
        throw SubstituteError(
          place,
          "a folder answers for all URLs below a path, which \(rule.shownPattern) does not say",
          remedy: "end the URL in /* and leave other * and queries out")
      }
      self = .below(NormalizedURL.Origin(url), prefix: pieces[0])
    } else {
      self = pieces.count == 1 ? .exact(url) : .pieces(NormalizedURL.Origin(url), pieces)
    }
  }

  private static func hasStarInHost(_ url: String) -> Bool {
    guard let start = url.firstRange(of: "//")?.upperBound else { return false }
    return url[start...].prefix { !"/?#".contains($0) }.contains("*")
  }

  /// The origin of a pattern for several URLs; `nil` for one URL.
  var origin: NormalizedURL.Origin? {
    switch self {
    case .exact: nil
    case .below(let origin, _), .pieces(let origin, _): origin
    }
  }

  /// Returns whether a target begins with one piece, ends with another, and has the rest between
  /// them in order. The first place of each piece is the best one, because it leaves the most room.
  ///
  /// - Complexity: O(bytes of the target x bytes of the longest piece).
  static func matches(_ target: [UInt8], _ pieces: [[UInt8]]) -> Bool {
    guard let first = pieces.first, let last = pieces.last, pieces.count > 1 else { return false }
    guard target.starts(with: first), target.count >= first.count + last.count,
      target.suffix(last.count).elementsEqual(last)
    else { return false }
    var rest = target[first.count..<target.count - last.count]
    for piece in pieces[1..<pieces.count - 1] {
      guard let found = rest.firstRange(of: piece) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }

  /// Returns the names of a path below a prefix, with escapes decoded; `nil` for an invalid path: a
  /// name is `.` or `..`, has a slash or a NUL, or is empty. A slash at the end means `index.html`.
  static func names(of target: [UInt8], below prefix: [UInt8]) -> [[UInt8]]? {
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    guard path.starts(with: prefix) else { return nil }
    var names: [[UInt8]] = []
    let parts = path.dropFirst(prefix.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if part.isEmpty, index == parts.count - 1 {
        names.append(Array("index.html".utf8))
        continue
      }
      guard let name = PercentEncoding.decoded(part), !name.isEmpty, name != [0x2E],
        name != [0x2E, 0x2E], !name.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
      else { return nil }
      names.append(name)
    }
    return names
  }
}
