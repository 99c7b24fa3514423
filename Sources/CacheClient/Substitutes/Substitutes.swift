import CacheSystem
import Synchronization

/// The files that ship with a program and answer for URLs.
///
/// Rules for one URL are tried first, then the rules for several URLs in their order. The first one
/// with a file answers. A rule whose file does not exist is skipped, and reported to `onMissing`;
/// without any other rule, store and network answer. Docs/Offline.md describes the answers.
public final class Substitutes: Sendable {
  struct Entry: Sendable {
    let rule: SubstituteRule
    let pattern: SubstitutePattern
    let place: SubstitutePlace
  }

  private let entries: [Entry]
  private let exact: [NormalizedURL: Int]
  private let others: [NormalizedURL.Origin: [Int]]
  private let onMissing: @Sendable (SubstituteError) -> Void
  private let told = Mutex<Set<String>>([])
  let digests = SubstituteDigests()

  private static let toldLimit = 1000

  /// Creates a table.
  ///
  /// - Parameters:
  ///   - rules: Those without `*` are tried first, then the others in their order.
  ///   - onMissing: Called once for each file that can no longer be read, on the thread of the
  ///     request. A file that a folder does not have is not reported.
  /// - Throws: ``SubstituteError`` for a pattern that is no URL, two rules for one URL, and a file
  ///   or folder that is missing, cannot be read, or is not of the kind that the rule states.
  public convenience init(
    _ rules: [SubstituteRule],
    onMissing: @escaping @Sendable (SubstituteError) -> Void = { _ in }
  ) throws(SubstituteError) {
    try self.init(
      placed: rules.map { ($0, SubstitutePlace(subject: $0.shownPattern, line: nil)) },
      onMissing: onMissing)
    for entry in entries { try Self.checkTarget(entry) }
  }

  private static func checkTarget(_ entry: Entry) throws(SubstituteError) {
    let wanted = entry.rule.target
    let found = try target(wanted.path, entry.place)
    guard found != wanted else { return }
    throw SubstituteError(
      entry.place, "\(wanted.path) is a \(found.kind), and the rule is for a \(wanted.kind)",
      remedy: "write .\(found.kind) in the rule, or name a \(wanted.kind)")
  }

  init(
    placed rules: [(SubstituteRule, SubstitutePlace)],
    onMissing: @escaping @Sendable (SubstituteError) -> Void
  ) throws(SubstituteError) {
    var entries: [Entry] = []
    var exact: [NormalizedURL: Int] = [:]
    var others: [NormalizedURL.Origin: [Int]] = [:]
    for (rule, place) in rules {
      try Self.check(rule, place)
      let entry = Entry(rule: rule, pattern: try SubstitutePattern(rule, at: place), place: place)
      if let origin = entry.pattern.origin {
        others[origin, default: []].append(entries.count)
      } else if case .exact(let url) = entry.pattern {
        if let other = exact[url] {
          let line = entries[other].place.line.map { " in line \($0)" } ?? ""
          throw SubstituteError(
            place, "\(url.string) has a substitute already\(line)", remedy: "leave one of them out")
        }
        exact[url] = entries.count
      }
      entries.append(entry)
    }
    self.entries = entries
    self.exact = exact
    self.others = others
    self.onMissing = onMissing
  }

  private static func check(
    _ rule: SubstituteRule, _ place: SubstitutePlace
  ) throws(SubstituteError) {
    guard let type = rule.mediaType else { return }
    guard type.utf8.contains(UInt8(ascii: "/")), HTTPField("Content-Type", type).isValid else {
      throw SubstituteError(
        place, "\(type) is no media type", remedy: "write one such as text/html; charset=utf-8")
    }
  }

  /// Opens the file that answers for a URL; `nil` if there is none.
  func open(_ url: NormalizedURL) -> (SubstituteFile, SubstituteRule)? {
    if let index = exact[url], let file = open(entries[index], url.target) {
      return (file, entries[index].rule)
    }
    guard !others.isEmpty, let indices = others[NormalizedURL.Origin(url)] else { return nil }
    for index in indices {
      if let file = open(entries[index], url.target) { return (file, entries[index].rule) }
    }
    return nil
  }

  private func open(_ entry: Entry, _ target: String) -> SubstituteFile? {
    let path: String
    let isExpected: Bool
    do throws(SystemError) {
      switch (entry.pattern, entry.rule.target) {
      case (.below(_, let prefix), .folder(let folder)):
        (path, isExpected) = (folder, false)
        guard let names = SubstitutePattern.names(of: Array(target.utf8), below: prefix) else {
          return nil
        }
        return try SubstituteFile(names, below: folder)
      case (.pieces(_, let pieces), .file(let file)):
        (path, isExpected) = (file, true)
        guard SubstitutePattern.matches(Array(target.utf8), pieces) else { return nil }
        return try SubstituteFile(path: file)
      case (_, .file(let file)):
        (path, isExpected) = (file, true)
        return try SubstituteFile(path: file)
      case (_, .folder): return nil
      }
    } catch {
      if isExpected || !(error == .notFound || error.isWrongKind) {
        tell(path, error, entry.place)
      }
      return nil
    }
  }

  /// Reports a file that cannot be read, once.
  func tell(_ path: String, _ error: SystemError, _ place: SubstitutePlace) {
    let isNew = told.withLock { told in
      told.count < Self.toldLimit && told.insert(path).inserted
    }
    guard isNew else { return }
    onMissing(
      SubstituteError(
        place, "the substitute \(path) cannot be read (\(error)), so the network is asked",
        remedy: "put the file back"))
  }
}
