import Testing

@testable import StoreMigration

struct WriteAheadLogTests {
  /// Examines files beside a database of pages with 4,096 bytes; returns the warnings.
  private func warnings(
    wal: Int? = nil, indexed: UInt8? = nil, index: [UInt8]? = nil, mode: UInt8 = 2,
    isEmpty: Bool = false
  ) throws -> [String] {
    let sandbox = try SourceSandbox()
    if let wal { _ = try sandbox.write("db-wal", [UInt8](repeating: 0, count: wal)) }
    if let indexed {
      // The version 3007000, in the order of a little-endian machine; a header that is complete.
      var bytes = [UInt8](repeating: 0, count: 32)
      bytes.replaceSubrange(0..<4, with: [0x18, 0xE2, 0x2D, 0x00])
      (bytes[12], bytes[16]) = (1, indexed)
      _ = try sandbox.write("db-shm", index ?? bytes)
    } else if let index {
      _ = try sandbox.write("db-shm", index)
    }
    var header = [UInt8](repeating: 0, count: 100)
    header.replaceSubrange(0..<16, with: Array("SQLite format 3\0".utf8))
    (header[16], header[18], header[19]) = (16, mode, mode)
    let log = WriteAheadLog(
      of: sandbox.path + "/db", try DatabaseHeader(header, path: "db", length: 4_096))
    return log.warnings(isEmpty: isEmpty)
  }

  /// The length of a -wal with some frames.
  private func frames(_ count: Int) -> Int { 32 + count * (4_096 + 24) }

  @Test func `a log that is whole, or not used, is no reason to warn`() throws {
    #expect(try warnings(wal: frames(2), indexed: 2).isEmpty)
    #expect(try warnings(wal: frames(3), indexed: 2).isEmpty)
    #expect(try warnings(wal: frames(2)).isEmpty)
    #expect(try warnings().isEmpty && warnings(wal: 0, indexed: 0).isEmpty)
    #expect(try warnings(indexed: 2, mode: 1, isEmpty: true).isEmpty)
  }

  @Test func `a log that is missing is named`() throws {
    for found in try [warnings(indexed: 2), warnings(indexed: 0), warnings(wal: 0, indexed: 2)] {
      #expect(found.count == 1 && found[0].hasPrefix("db-wal is missing"), "\(found)")
    }
    let empty = try warnings(isEmpty: true)
    #expect(empty.count == 1 && empty[0].hasPrefix("it has no rows"))
  }

  @Test func `a log that is cut off is named`() throws {
    for found in try [
      warnings(wal: 1), warnings(wal: 31), warnings(wal: frames(1) - 1),
      warnings(wal: frames(1) + 1),
      warnings(wal: frames(1), indexed: 2), warnings(wal: 32, indexed: 1),
    ] {
      #expect(found.count == 1 && found[0].hasPrefix("db-wal is cut off"), "\(found)")
    }
    #expect(try warnings(wal: 32).isEmpty)
  }

  @Test func `an index that is none says nothing about frames`() throws {
    let wrongs: [[UInt8]] = [
      [], [1, 2, 3], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32),
    ]
    for index in wrongs { #expect(try warnings(wal: frames(1), index: index).isEmpty) }
  }
}
