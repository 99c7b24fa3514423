import Foundation
import StoreMigration
import TestSupport
import Testing
import ToolTesting

/// A folder for one test, removed at its end.
final class SourceSandbox {
  private let temporary = TemporaryFolder()

  var path: String { temporary.path }

  init() throws {
    for folder in [copies, bodies] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
  }

  /// Where private copies are made.
  var copies: String { path + "/copies" }

  /// Where bodies are written to be compared.
  var bodies: String { path + "/bodies" }

  /// What a migration is told.
  var options: MigrationOptions { MigrationOptions(temporaryFolder: copies) }

  /// The same, without writing anything.
  var dryRun: MigrationOptions {
    var options = options
    options.isDryRun = true
    return options
  }

  /// Writes a file.
  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }

  /// Opens a source and reads its rows.
  ///
  /// - Returns: the reason why that failed, if it did.
  func cause(
    _ path: String, format: SourceFormat? = nil, copyLimit: UInt64 = 1 << 30
  ) -> SourceError.Cause? {
    do throws(SourceError) {
      let cache = try SourceCache(
        path: path, format: format, temporaryFolder: copies, copyLimit: copyLimit)
      while try cache.nextRow() != nil {}
      return nil
    } catch {
      #expect(error.description.hasPrefix(error.path + ": "))
      return error.cause
    }
  }

  /// Makes a database with the statements given.
  func database(_ name: String, _ sql: String) throws -> String {
    let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2])"
    _ = try Python.run(["-c", script, "\(path)/\(name)", sql])
    return "\(path)/\(name)"
  }
}

extension SourceCache {
  /// Reads the rows that are left.
  func allRows() throws(SourceError) -> [SourceRow] {
    var rows: [SourceRow] = []
    while let row = try nextRow() { rows.append(row) }
    return rows
  }
}

extension SourceRow {
  /// The reason why there is no entry.
  var reason: SkipReason? {
    if case .skipped(let reason, _) = outcome { reason } else { nil }
  }
}

/// The SQL of a store of YYCache.
enum Manifest {
  static let table = """
    CREATE TABLE manifest(key text, filename text, size integer, inline_data blob,
      modification_time integer, last_access_time integer, extended_data blob, primary key(key));
    """

  static func row(_ key: String, _ data: String = "x'01'", _ name: String = "NULL") -> String {
    "INSERT INTO manifest VALUES('\(key)', \(name), NULL, \(data), 1, 2, NULL);"
  }
}

/// Runs Python 3, which the generators of test data need.
enum Python {
  static let isThere =
    (try? run(["-c", "import sqlite3, plistlib"])) != nil

  /// Gives what a program prints.
  static func run(_ arguments: [String]) throws -> String {
    let (status, output) = try Child.run("/usr/bin/env", ["python3", "-B"] + arguments)
    guard status == 0 else { throw CocoaError(.executableRuntimeMismatch) }
    return output
  }
}

/// The programs in Tests/SourceGenerators, which make stores of the source formats.
enum SourceGenerators {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "SourceGenerators")

  /// Makes the stores of a format below a folder, which says what is in each.
  static func run(_ format: SourceFormat, to stores: String, seed: Int, rows: Int) throws {
    let script = folder.appending(path: "gen_\(format).py").path
    _ = try Python.run([script, stores, "\(seed)", "\(rows)"])
  }
}

/// What real programs have recorded: not part of the package, so `OFFLINECACHE_SHARED` names it.
enum RecordedSources {
  static let folder: String? = {
    guard let shared = ProcessInfo.processInfo.environment["OFFLINECACHE_SHARED"] else {
      return nil
    }
    let path = URL(filePath: shared).appending(path: "sqlite/samples").path
    return FileManager.default.fileExists(atPath: path) && Python.isThere ? path : nil
  }()

  static let areThere = folder != nil
  static let hint: Comment = "set OFFLINECACHE_SHARED to the folder with sqlite/samples"
}
