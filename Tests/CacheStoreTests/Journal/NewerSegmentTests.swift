import CacheFormat
import CacheSystem
import Foundation
import Testing

@testable import CacheStore

/// A program that is newer begins to use a store that is open here.
@Suite struct NewerSegmentTests {
  let sandbox = StoreSandbox()

  private func open() throws -> Store {
    var options = Options()
    options.journal = JournalSizes(segmentBytes: 2_000)
    return try sandbox.open(options)
  }

  /// Writes the header of a segment in a format to come.
  private func plantNewerSegment(_ store: Store, _ number: UInt32) throws -> String {
    var bytes = SegmentHeader(
      storeID: store.catalog.id, hashSeed: store.hashSeed, number: UInt64(number),
      created: Timestamp(nanoseconds: 0)
    ).bytes
    bytes[8] = 3
    let sum = Checksum.of(Array(bytes[..<56]))
    for place in 0..<8 { bytes[56 + place] = UInt8(truncatingIfNeeded: sum >> (8 * place)) }
    let name = "journal/\(Layout.segment(number).text)"
    try Data(bytes + [1, 2, 3]).write(to: URL(filePath: sandbox.inside(name)))
    return name
  }

  @Test func `a program that meets a newer format closes the store and leaves it alone`() throws {
    let store = try open()
    try store.put([1], for: "a")
    let name = try plantNewerSegment(store, 2)
    let before = sandbox.tree("journal")
    let refusal = failure(.newerFormat, sandbox.inside(name))
    #expect(throws: refusal) {
      for number in 0..<100 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    }
    let after = sandbox.tree("journal")
    #expect(after[name] == before[name])
    #expect(after.count == 2)
    // From now on nothing is written any more, not even at closing.
    #expect(throws: refusal) { try store.put([2], for: "b") }
    #expect(throws: refusal) { try store.setLimits(Limits(entries: 1)) }
    #expect(store.lookUp("a").entry == nil)
    let tree = sandbox.tree()
    store.close()
    #expect(sandbox.tree() == tree)
  }

  @Test func `a newer segment after a seal is no damage`() throws {
    let store = try open()
    try store.put([1], for: "a")
    let name = try plantNewerSegment(store, 2)
    // As the newer program ends the segment before it.
    try store.catalog.writer.append { _ in [SealRecord.bytes(next: 2)] }
    let tree = sandbox.tree()
    #expect(throws: failure(.newerFormat, sandbox.inside(name))) { try store.put([1], for: "b") }
    store.waitUntilIdle()
    store.close()
    #expect(sandbox.tree("entries") == tree.filter { $0.key.hasPrefix("entries/") })
    #expect(sandbox.bytes(name).count == 67)
  }

  @Test func `a file that is no segment is never replaced`() throws {
    let store = try open()
    let rubbish = [UInt8](repeating: 0x41, count: 500)
    try Data(rubbish).write(to: URL(filePath: sandbox.inside("journal/00000002.log")))
    for number in 0..<100 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    for number in 0..<100 {
      #expect(store.lookUp(ByteString("k\(number)")).entry?.body == [UInt8(number)])
    }
    store.waitUntilIdle()
    store.close()
    let again = try open()
    again.waitUntilIdle()
    #expect(again.statistics.entries == 100)
  }
}
