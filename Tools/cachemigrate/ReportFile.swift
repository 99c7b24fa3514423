import CacheFormat
import CacheSystem
import CommandLineTools
import StoreMigration

struct ReportProblem: Error, CustomStringConvertible {
  let path: String
  let status: FileStatus

  /// Creates the problem of a file; `nil` if the file may be written.
  init?(_ path: String, _ status: FileStatus) {
    guard !status.isOwnFile || status.linkCount > 1 else { return nil }
    (self.path, self.status) = (path, status)
  }

  var description: String {
    let what: String
    switch status.kind {
    case .directory: what = "a folder"
    case .link: what = "a symbolic link"
    case .other: what = "no regular file"
    case .file:
      let isOwn = status.isOwnFile
      return "\(path): "
        + (isOwn ? "it has another name, too" : "it belongs to another user")
        + ", and is not written to; name another file for the report"
    }
    return "\(path): it is \(what), and a report is written to a file; name another one"
  }
}

final class ReportFile {
  private let path: String
  /// A digest of its path and its format.
  let name: String
  private let isJSON: Bool
  private let file: Descriptor
  private var waiting: [UInt8] = []
  private var written: Int64 = 0
  /// The bytes of an earlier run's report that were kept.
  private(set) var keptBytes: Int64 = 0
  private let files = RealFileSystem()

  /// The bytes of text that are collected before they are written.
  private static let capacity = 1 << 16

  /// Opens or creates the file.
  ///
  /// - Parameter length: The bytes of the file that are kept when a migration is resumed; if it is
  ///   shorter, all are kept.
  /// - Throws: `ReportProblem` for anything but a regular file of this user; `OutputError`.
  init(_ path: String, isJSON: Bool, keeping length: Int64) throws {
    self.path = path
    name = Self.name(of: path, isJSON: isJSON)
    self.isJSON = isJSON
    var problem: ReportProblem?
    do throws(SystemError) {
      let parts = UserPath.split(path)
      guard let name = PathName(bytes: parts.name.utf8) else { throw SystemError.notFound }
      let place = try files.open(userPath: parts.folder, [.read, .directory])
      // Checked before opening, because opening a pipe waits for a reader, and again afterwards,
      // because the file may have been replaced.
      problem = (try? files.status(at: name, in: place.raw)).flatMap { ReportProblem(path, $0) }
      if problem != nil { throw SystemError.othersFile }
      file = try files.open(name, in: place, [.read, .write, .create])
      problem = ReportProblem(path, try files.status(of: file.raw))
      if problem != nil { throw SystemError.othersFile }
      written = min(length, try files.length(of: file.raw))
      try files.truncate(file, to: written)
    } catch { throw problem ?? OutputError(path: path, errno: error.code) as any Error }
    keptBytes = written
    if !isJSON, written == 0 {
      waiting += Array("\(Self.row("ROW", "RESULT", "REASON", "BYTES"))  KEY\n".utf8)
    }
  }

  /// Returns a digest of the path of a file, without links and `..`, and of its format. A report
  /// of the other format is not continued.
  static func name(of path: String, isJSON: Bool) -> String {
    let place = UserPath.upwards(from: Array(path.utf8))[0]
    return Digest(hashing: place + (isJSON ? [] : [0])).description
  }

  /// The length of the file once all collected text is written.
  var length: Int64 { written + Int64(waiting.count) }

  func write(_ result: RowResult) throws(OutputError) {
    waiting += Array((isJSON ? Self.json(result) : Self.text(result)).utf8)
    waiting.append(10)
    if waiting.count >= Self.capacity { try flush() }
  }

  func flush() throws(OutputError) {
    do throws(SystemError) {
      try files.write(file, waiting, at: written)
    } catch { throw OutputError(path: path, errno: error.code) }
    written += Int64(waiting.count)
    waiting.removeAll(keepingCapacity: true)
  }

  private static func json(_ result: RowResult) -> String {
    var members: [(String, JSONText)] = [
      ("row", .integer(result.row)), ("key", .string(result.key)),
    ]
    if let url = result.mappedURL { members.append(("mapped_url", .string(url))) }
    switch result.outcome {
    case .converted(let replaced):
      members += [("result", "converted"), ("replaced", .bool(replaced))]
    case .skipped(let reason, let detail):
      members += [
        ("result", "skipped"), ("reason", .string(reason.name)), ("fault", .bool(reason.isFault)),
        ("detail", .string(detail)),
      ]
    }
    members.append(("bytes", .count(result.bytes)))
    return JSONText.object(members).line
  }

  private static func text(_ result: RowResult) -> String {
    let mapped = result.mappedURL.map { " -> \(terminalSafe($0))" } ?? ""
    let key = terminalSafe(result.key) + mapped
    switch result.outcome {
    case .converted(let replaced):
      let word = replaced ? "replaced_older" : ""
      return "\(row("\(result.row)", "converted", word, "\(result.bytes)"))  \(key)"
    case .skipped(let reason, let detail):
      let words = detail.isEmpty ? "" : "  (\(terminalSafe(detail)))"
      return "\(row("\(result.row)", "skipped", reason.name, "\(result.bytes)"))  \(key)\(words)"
    }
  }

  private static func row(_ row: String, _ result: String, _ reason: String, _ bytes: String)
    -> String
  {
    func blanks(after text: String, to width: Int) -> String { pad("", to: width - text.count) }
    return "\(pad(row, to: 10))  \(result)\(blanks(after: result, to: 9))  "
      + "\(reason)\(blanks(after: reason, to: 26))  \(pad(bytes, to: 12))"
  }
}
