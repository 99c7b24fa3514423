import TestSupport
import Testing

@testable import StoreMigration

struct DatabaseHeaderTests {
  /// Makes the first bytes of a database.
  private func header(
    pageSize: UInt16 = 4_096, pages: UInt32 = 2, counters: (UInt32, UInt32) = (5, 5),
    mode: UInt8 = 1
  ) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    func set(_ number: UInt32, at offset: Int) {
      for index in 0..<4 {
        bytes[offset + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32(index)))
      }
    }
    bytes.replaceSubrange(0..<16, with: Array("SQLite format 3\0".utf8))
    (bytes[16], bytes[17]) = (UInt8(pageSize >> 8), UInt8(pageSize & 255))
    (bytes[18], bytes[19]) = (mode, mode)
    set(counters.0, at: 24)
    set(pages, at: 28)
    set(counters.1, at: 92)
    return bytes
  }

  private func cause(_ bytes: [UInt8], length: UInt64 = 8_192) -> SourceError.Cause? {
    do throws(SourceError) {
      _ = try DatabaseHeader(bytes, path: "p", length: length)
      return nil
    } catch {
      #expect(error.path == "p")
      return error.cause
    }
  }

  @Test func `the size of a page, the mode and the length are read`() throws {
    let whole = try DatabaseHeader(header(), path: "p", length: 8_192)
    #expect(whole.pageBytes == 4_096 && whole.isRollbackMode && !whole.isCutOff)
    let largest = try DatabaseHeader(header(pageSize: 1, pages: 1), path: "p", length: 65_536)
    #expect(largest.pageBytes == 65_536 && !largest.isCutOff)
    #expect(try !DatabaseHeader(header(mode: 2), path: "p", length: 8_192).isRollbackMode)
  }

  @Test(
    arguments: [(8_191, true), (8_192, false), (4_096, true), (1 << 40, false)] as [(UInt64, Bool)])
  func `a file with fewer pages than it states is cut off`(length: UInt64, isCutOff: Bool) throws {
    #expect(try DatabaseHeader(header(), path: "p", length: length).isCutOff == isCutOff)
  }

  @Test func `pages that are not stated are counted by the length`() throws {
    for pages in [header(pages: 0), header(pages: 1_000, counters: (5, 6))] {
      #expect(try !DatabaseHeader(pages, path: "p", length: 8_192).isCutOff)
      #expect(try DatabaseHeader(pages, path: "p", length: 8_193).isCutOff)
    }
    // A size of 0 is nothing to divide by.
    let none = try DatabaseHeader(header(pageSize: 0, pages: 0), path: "p", length: 8_193)
    #expect(none.pageBytes == 0 && !none.isCutOff)
    let most = try DatabaseHeader(header(pageSize: 1, pages: .max), path: "p", length: 8_192)
    #expect(most.isCutOff)
  }

  @Test func `what is no database says what it looks like`() {
    #expect(cause([], length: 0) == .empty)
    #expect(cause([], length: 1) == .notADatabase)
    #expect(cause(Array(header()[..<99])) == .notADatabase)
    #expect(cause(Array(header()[..<100])) == nil)
    #expect(cause([UInt8](repeating: 7, count: 4_096)) == .notADatabase)
    var random = SplitMix64(seed: 1)
    #expect(cause(random.bytes(4_096)) == .encrypted)
    #expect(cause(random.bytes(4_095)) == .notADatabase)
    var bytes = header()
    bytes[15] = 1
    #expect(cause(bytes) == .notADatabase)
  }
}
