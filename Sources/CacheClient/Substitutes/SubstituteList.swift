import CacheSystem
import HTTPSemantics

// Tables in files, with a line for each rule (Docs/Offline.md, "The table").
extension Substitutes {
  /// The longest file that is read, in bytes.
  public static let maximumListBytes = 16 << 20

  /// Reads tables from files; relative paths in them are relative to their folder.
  ///
  /// Each file and folder in a table must exist. `onMissing` is called for those that are deleted
  /// later.
  ///
  /// - Throws: ``SubstituteError`` with file, line and remedy.
  public convenience init(
    contentsOf paths: [String],
    onMissing: @escaping @Sendable (SubstituteError) -> Void = { _ in }
  ) throws(SubstituteError) {
    var rules: [(SubstituteRule, SubstitutePlace)] = []
    for path in paths {
      let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
      for (number, line) in try Self.lines(of: path) {
        let place = SubstitutePlace(subject: path, line: number)
        rules.append((try Self.rule(line, folder, place), place))
      }
    }
    try self.init(placed: rules, onMissing: onMissing)
  }

  private static func lines(
    of path: String
  ) throws(SubstituteError) -> [(number: Int, text: String)] {
    let place = SubstitutePlace(subject: path, line: nil)
    let bytes: [UInt8]
    do throws(SystemError) {
      let file = try SubstituteFile(path: path)
      guard file.status.length <= UInt64(maximumListBytes) else {
        throw SystemError.tooLarge
      }
      bytes = try file.read(at: 0, count: Int(file.status.length))
    } catch  where error == .othersFile {
      throw SubstituteError(
        place, "may have been put there by another user", remedy: "copy it to a folder of your own")
    } catch {
      throw SubstituteError(place, "cannot be read (\(error))", remedy: "name a file with a table")
    }
    do throws(ItemLines.NotUTF8) {
      return try ItemLines.items(in: bytes)
    } catch {
      throw SubstituteError(
        SubstitutePlace(subject: path, line: error.line), "the line is not UTF-8",
        remedy: "write the file as UTF-8")
    }
  }

  private static func rule(
    _ line: String, _ folder: String, _ place: SubstitutePlace
  ) throws(SubstituteError) -> SubstituteRule {
    let words = try words(of: line, place)
    guard words.count > 1 else {
      throw SubstituteError(
        place, "there is no file for \(words[0])", remedy: "write its path behind the URL")
    }
    let path = words[1].hasPrefix("/") ? words[1] : folder + words[1]
    var rule = SubstituteRule(words[0], try target(path, place))
    for word in words.dropFirst(2) { try take(word, &rule, place) }
    return rule
  }

  /// Returns whether a path is a file or a folder, by what exists there.
  static func target(
    _ path: String, _ place: SubstitutePlace
  ) throws(SubstituteError) -> SubstituteRule.Target {
    let files = RealFileSystem()
    do throws(SystemError) {
      let descriptor = try files.open(userPath: path, [.read])
      switch try files.status(of: descriptor.raw).kind {
      case .file: return .file(path)
      case .directory: return .folder(path)
      default: break
      }
    } catch {
      throw SubstituteError(
        place, "\(path) cannot be read (\(error))",
        remedy: "put it there, or take the \(place.line == nil ? "rule" : "line") out")
    }
    throw SubstituteError(
      place, "\(path) is neither a file nor a folder", remedy: "name one of them")
  }

  private static func take(
    _ word: String, _ rule: inout SubstituteRule, _ place: SubstitutePlace
  ) throws(SubstituteError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : ""
    switch (parts[0], value) {
    case ("type", _) where !value.isEmpty: rule.mediaType = value
    case ("fresh", "always"): rule.lifetime = .always
    case ("stored", "newer"): rule.yieldsToNewer = true
    case ("max-age", _):
      guard let seconds = Int(value), (0...Int(Int32.max)).contains(seconds) else {
        throw SubstituteError(
          place, "max-age=\(value) is no number of seconds", remedy: "write one such as max-age=60")
      }
      rule.lifetime = .seconds(seconds)
    default:
      throw SubstituteError(
        place, "\(word) is no option",
        remedy: "use type=TYPE, max-age=SECONDS, fresh=always or stored=newer; put what has blanks "
          + "into \"quotation marks\"")
    }
  }

  /// Splits a line, which is not empty, at blanks, except in quotation marks, which are removed.
  private static func words(
    of line: String, _ place: SubstitutePlace
  ) throws(SubstituteError) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for character in line {
      switch character {
      case "\"":
        isQuoted.toggle()
        word = word ?? ""
      case " ", "\t":
        if isQuoted {
          word?.append(character)
        } else if let done = word {
          words.append(done)
          word = nil
        }
      default: word = (word ?? "") + String(character)
      }
    }
    guard !isQuoted else {
      throw SubstituteError(
        place, "a quotation mark is not closed", remedy: "close it, or remove it")
    }
    if let word { words.append(word) }
    return words
  }
}
