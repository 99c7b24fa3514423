import Foundation
import HTTPSemantics
import Testing

@testable import StoreMigration

struct CoreDataReaderTests {
  private static let table = """
    CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
      ZMIMETYPE, ZURL, ZDATA, ZSTATUSCODE);
    """

  private func row(
    _ number: Int, _ data: DatabaseValue = .blob([7]), entity: DatabaseValue = .integer(3),
    status: DatabaseValue = .null, time: DatabaseValue = .real(1)
  ) -> [DatabaseValue] {
    [
      .integer(Int64(number)), entity, time, .text("utf-8"), .text("text/html"),
      .text("https://h/\(number)"), data, status,
    ]
  }

  private func read(
    _ rows: [[DatabaseValue]], sql: String = "", name: String = "c.sqlite",
    in sandbox: SourceSandbox
  ) throws -> [SourceRow] {
    try sandbox.rows(
      sandbox.makeDatabase(name, Self.table + sql, into: "ZCACHEDURLRESPONSE", rows))
  }

  private func read(_ rows: [[DatabaseValue]], sql: String = "") throws -> [SourceRow] {
    try read(rows, sql: sql, in: try SourceSandbox())
  }

  @Test func `rows of other entities in the table are left`() throws {
    let entities = "CREATE TABLE Z_PRIMARYKEY(Z_ENT, Z_NAME);"
    let rows = [row(1), row(2, entity: .integer(4)), row(3, entity: .null)]
    let known = entities + "INSERT INTO Z_PRIMARYKEY VALUES(1, 'Other'), (3, 'CachedURLResponse');"
    #expect(try read(rows, sql: known).map(\.reason) == [nil, .foreignEntity, .foreignEntity])
    // Without their names, all count.
    for sql in ["", entities, "CREATE TABLE Z_PRIMARYKEY(Z_ENT);"] {
      #expect(try read(rows, sql: sql).map(\.reason) == [nil, nil, nil], "\(sql)")
    }
  }

  @Test func `a status is kept, made up where there is none, and checked`() throws {
    let statuses: [(DatabaseValue, SkipReason?)] = [
      (.null, nil), (.integer(0), nil), (.integer(404), nil), (.integer(206), .partialContent),
      (.integer(99), .badStatus), (.integer(600), .badStatus), (.integer(.min), .badStatus),
      (.text("404"), nil), (.integer(599), nil), (.integer(100), .noWholeAnswer),
      (.integer(304), .noWholeAnswer),
      // An attribute may have been a number with a fraction, or a text.
      (.real(404), nil), (.real(0), nil), (.text("0"), nil), (.real(206), .partialContent),
      (.real(404.5), .badStatus), (.real(1e300), .badStatus), (.real(-.infinity), .badStatus),
      (.text("abc"), .badStatus), (.text(""), .badStatus), (.text("404 "), .badStatus),
      (.blob(Array("404".utf8)), .badStatus), (.text("999999999999999999999"), .badStatus),
    ]
    let rows = try read(statuses.enumerated().map { row($0.offset + 1, status: $0.element.0) })
    #expect(rows.map(\.reason) == statuses.map(\.1))
    #expect(rows[2].entry?.status == 404 && rows[2].entry?.madeUp == [.fields])
    for number in [7, 11] {
      #expect(rows[number].entry?.status == 404 && rows[number].entry?.madeUp == [.fields])
    }
    #expect(rows[12].entry?.status == 200 && rows[13].entry?.madeUp == [.status, .fields])
    #expect(rows[0].entry?.status == 200 && rows[0].entry?.madeUp == [.status, .fields])
    #expect(rows[0].entry?.fields.map(\.description) == ["Content-Type: text/html; charset=utf-8"])
  }

  private static let name = "0A1B2C3D-0000-4000-8000-0123456789AB"

  @Test func `a byte before each value shows whether it is the body or names a file`() throws {
    let sandbox = try SourceSandbox()
    let folder = sandbox.path + "/.c_SUPPORT/_EXTERNAL_DATA"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    _ = try sandbox.write(".c_SUPPORT/_EXTERNAL_DATA/\(Self.name)", [1, 2, 3, 4])
    let file = { (text: String) in DatabaseValue.blob([2] + Array(text.utf8)) }
    let values: [(DatabaseValue, SkipReason?, UInt64?)] = [
      (.blob([1, 5, 6]), nil, 2), (.blob([1]), nil, 0), (.blob([]), nil, 0),
      (file(Self.name), nil, 4), (file(Self.name + "\0"), nil, 4),
      (file(Self.name + "\0\0\0"), nil, 4),
      (.text("\u{2}" + Self.name), nil, 4),
      (file(""), .badBodyFileName, nil), (file("\0"), .badBodyFileName, nil),
      (file("../../c.sqlite"), .unsafeFileName, nil),
      (file(Self.name + "\0x"), .unsafeFileName, nil),
      (file(String(repeating: "a", count: 256)), .unsafeFileName, nil),
      (file(String(Self.name.dropLast()) + "C"), .missingBodyFile, nil), (.null, .noBody, nil),
    ]
    let rows = try read(
      values.enumerated().map { row($0.offset + 1, $0.element.0) }, in: sandbox)
    #expect(rows.map(\.reason) == values.map(\.1))
    #expect(rows.map { $0.entry?.body.length } == values.map(\.2))
  }

  @Test func `one value that begins otherwise shows that none has such a byte`() throws {
    let rows = try read([row(1, .blob([1, 5])), row(2, .blob([2, 5])), row(3, .blob([3]))])
    #expect(rows.map { $0.entry?.body.length } == [2, 2, 1])
  }

  @Test(
    arguments: [
      ("c", ".c_SUPPORT"), ("c.sqlite", ".c_SUPPORT"), ("a.b.c", ".a.b_SUPPORT"),
      (".c", "._SUPPORT"), ("c.", ".c_SUPPORT"), ("é.\u{301}x", ".é_SUPPORT"),
    ])
  func `the folder of files is named after the database`(name: String, folder: String) throws {
    let sandbox = try SourceSandbox()
    let path = "\(sandbox.path)/\(folder)/_EXTERNAL_DATA"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    _ = try sandbox.write("\(folder)/_EXTERNAL_DATA/\(Self.name)", [1, 2, 3, 4])
    let rows = try read([row(1, .blob([2] + Array(Self.name.utf8)))], name: name, in: sandbox)
    #expect(rows.map { $0.entry?.body.length } == [4])
    // A store must not be made there, either.
    #expect(throws: MigrationError.self) {
      try MigrationPlaces.check(source: "\(sandbox.path)/\(name)", destination: path + "/store")
    }
  }

  @Test func `of rows with one URL the one with the latest time counts`() throws {
    var rows = [row(1, time: .real(5)), row(2, time: .integer(9)), row(3, time: .text("99"))]
    for index in rows.indices { rows[index][5] = .text("https://h/") }
    rows.append(row(4, time: .real(.infinity)))
    let found = try read(rows)
    #expect(found.map(\.reason) == [.duplicateKeySuperseded, nil, .duplicateKeySuperseded, nil])
    #expect(found[1].entry?.received == found[1].entry?.created)
  }
}
