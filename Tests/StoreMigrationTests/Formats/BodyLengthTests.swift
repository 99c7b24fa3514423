import Foundation
import HTTPSemantics
import Testing

@testable import StoreMigration

/// Bodies that are shorter than their responses say.
@Suite struct BodyLengthTests {
  struct Case: Sendable, CustomStringConvertible {
    var description: String
    var length: UInt64
    var fields: [(String, String)] = [("Content-Length", "100")]
    var method = "GET"
    var status = 200
    var decoded: Int?
    var missed: UInt64?
  }

  static let cases = [
    Case(description: "whole", length: 100),
    Case(description: "cut off", length: 99, missed: 100),
    Case(description: "empty", length: 0, missed: 100),
    Case(description: "longer: decoded without a trace", length: 300),
    Case(description: "HEAD", length: 0, method: "HEAD"),
    Case(description: "304", length: 0, status: 304),
    Case(description: "204", length: 0, status: 204),
    Case(description: "a redirection whose body was not kept", length: 0, status: 301),
    Case(description: "404 cut off", length: 4, status: 404, missed: 100),
    Case(description: "no length", length: 5, fields: []),
    Case(description: "a length that is none", length: 5, fields: [("Content-Length", "x")]),
    Case(
      description: "a transfer coding", length: 5,
      fields: [("Content-Length", "100"), ("Transfer-Encoding", "Identity")]),
    Case(
      description: "decoded, the archive tells the length", length: 60,
      fields: [("Content-Length", "100"), ("Content-Encoding", "br")], decoded: 60),
    Case(
      description: "decoded and shorter than coded", length: 60,
      fields: [("Content-Length", "100"), ("Content-Encoding", "gzip")]),
    Case(
      description: "decoded and cut off", length: 250,
      fields: [("Content-Length", "100"), ("Content-Encoding", "gzip")], decoded: 300, missed: 300),
    Case(
      description: "stored as it was sent", length: 100,
      fields: [("Content-Length", "100"), ("Content-Encoding", "gzip")], decoded: 300),
    Case(
      description: "no coding", length: 60,
      fields: [("Content-Length", "100"), ("Content-Encoding", "identity")], missed: 100),
    Case(description: "an unknown length", length: 60, fields: [], decoded: -1),
  ]

  @Test(arguments: cases) func `only what was cut off is refused`(_ example: Case) {
    var fields: HTTPFields = []
    for (name, value) in example.fields { fields.append(HTTPField(name, value)) }
    let missed = BodyLength.missed(
      by: example.length, fields, method: example.method, status: example.status,
      decoded: example.decoded)
    #expect(missed == example.missed)
  }

  @Test(.enabled(if: Python.isThere, "python3 is needed"))
  func `a body that was cut off in its file is refused, all others move`() throws {
    let sandbox = try SourceSandbox()
    try SourceGenerators.run(.cfnetwork, to: sandbox.path + "/gen", seed: 5, rows: 60)
    let folder = sandbox.path + "/gen/cfnetwork_good"
    let expected = try ExpectedStore(folder: folder)
    // The row numbers are those of the table of responses, and of the table of bodies, too.
    let database = "\(folder)/\(expected.store)"
    let names = try Python.run([
      "-c",
      """
      import sqlite3, sys
      for row, name in sqlite3.connect(sys.argv[1]).execute(
          'select entry_ID, receiver_data from cfurl_cache_receiver_data where isDataOnFS'):
        print(row, name.decode() if isinstance(name, bytes) else name)
      """, database,
    ]).split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    var cut: Set<Int64> = []
    var whole: Set<Int64> = []
    let before = try SourceCache(path: database, temporaryFolder: sandbox.copies)
    while let row = try before.nextRow() {
      guard case .entry(let entry) = row.outcome else { continue }
      whole.insert(row.row)
      let name = names.first { $0[0] == "\(row.row)" }?[1]
      guard let name, entry.body.length > 1, entry.method == "GET", entry.status == 200,
        !entry.fields.contains("Transfer-Encoding"), entry.fields.contains("Content-Length"),
        !entry.fields.contains("Content-Encoding")
      else { continue }
      let file = "\(folder)/fsCachedData/\(name)"
      try FileHandle(forWritingTo: URL(filePath: file)).truncate(atOffset: entry.body.length / 2)
      cut.insert(row.row)
    }
    #expect(!cut.isEmpty)
    let after = try SourceCache(path: database, temporaryFolder: sandbox.copies)
    while let row = try after.nextRow() {
      switch row.outcome {
      case .entry: #expect(whole.contains(row.row) && !cut.contains(row.row))
      case .skipped(let reason, _):
        #expect(cut.contains(row.row) == (reason == .sizeMismatch), "\(row.row) \(reason)")
      }
    }
  }
}
