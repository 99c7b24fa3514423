import CacheFormat
import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import CacheStore

/// Small bodies that are in the metadata files.
@Suite struct EmbeddedBodyTests {
  let sandbox = StoreSandbox()

  private func open(_ change: (inout Options) -> Void = { _ in }) throws -> Store {
    var options = Options()
    change(&options)
    return try sandbox.open(options, settling: .within(seconds: 3_600))
  }

  private func text(_ number: Int) -> [UInt8] { Array("body \(number)\n".utf8) }
  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func expectAll(_ count: Int, _ store: Store) {
    for number in 0..<count {
      #expect(store.lookUp(key(number)).entry?.body == text(number))
      guard case .hit(_, let reader) = store.read(key(number)) else {
        Issue.record("\(number) is not there")
        continue
      }
      #expect((try? reader.read(upTo: 100)) == text(number))
    }
  }

  @Test func `a small entry takes two blocks and its metadata file shows the body`() throws {
    let store = try open()
    try store.put(text(1), for: "a")
    let planned = store.statistics.unsettledBytes
    try store.settle()
    #expect(sandbox.bodies.isEmpty)
    let file = try #require(sandbox.metadataFiles.first)
    let words = String(decoding: sandbox.bytes(file), as: UTF8.self)
    #expect(words.contains("\"format\": 2") && words.contains("\"body\": \"body 1\\n\""))
    let now = store.statistics
    #expect(planned == 8_192 && now.allocatedBytes - now.journalBytes == 8_192)
  }

  @Test func `an entry of 40 bytes takes at most 250 bytes of the journal`() throws {
    let store = try open()
    for number in 0..<500 {
      try store.put(TestBody.make(40, seed: UInt64(number)), for: key(number))
    }
    try store.settle()
    try store.purge()
    let now = store.statistics
    #expect(now.journalBytes < 500 * 250)
    #expect(now.allocatedBytes - now.journalBytes == 500 * 8_192)
  }

  @Test func `a small body that takes six times as much as JSON counts with its blocks`() throws {
    let store = try open()
    try store.put([UInt8](repeating: 1, count: 1_024), for: "a")
    let planned = store.statistics.unsettledBytes
    try store.settle()
    let now = store.statistics
    #expect(planned == 12_288 && now.allocatedBytes - now.journalBytes == planned)
    #expect(store.lookUp("a").entry?.body.count == 1_024)
  }

  @Test(arguments: [false, true])
  func `small entries are there again after the journal was lost`(isReadOnly: Bool) throws {
    var store = try open()
    for number in 0..<40 { try store.put(text(number), for: key(number)) }
    try store.settle()
    store.close()
    for name in sandbox.segments { sandbox.remove(name) }
    store = try open { $0.isReadOnly = isReadOnly }
    expectAll(40, store)
    store.waitUntilIdle()
    #expect(store.statistics.entries == 40)
    store.close()
    expectAll(40, try open())
  }

  @Test func `a program that settles at once takes small entries up again`() throws {
    var store = try open()
    for number in 0..<5 { try store.put(text(number), for: key(number)) }
    try store.settle()
    store.close()
    for name in sandbox.segments + ["lock"] { sandbox.remove(name) }
    store = try sandbox.open()
    store.waitUntilIdle()
    expectAll(5, store)
    try store.purge()
    store.close()
    expectAll(5, try open())
  }

  @Test func `small entries outlive their segments`() throws {
    var store = try open { $0.journal = JournalSizes(segmentBytes: 8_192, smallBytes: 16_384) }
    for round in 0..<4 {
      for number in 0..<100 { try store.put(text(number), for: key(number)) }
      if round.isMultiple(of: 2) { try store.settle() }
    }
    try store.settle()
    try store.purge()
    let now = store.statistics
    #expect(now.deadJournalBytes < 4_096 && now.unsettledEntries == 0)
    expectAll(100, store)
    store.close()
    store = try open()
    #expect(store.statistics.unsettledEntries == 0)
    expectAll(100, store)
  }

  @Test func `a damaged record is replaced by the metadata file`() throws {
    var store = try open()
    try store.put(text(1), for: key(1))
    try store.settle()
    store.close()
    let segment = try #require(sandbox.segments.last)
    let place = try #require(
      Data(sandbox.bytes(segment)).range(of: Data(text(1)), options: .backwards))
    sandbox.flip(segment, at: place.lowerBound)
    store = try open()
    #expect(store.lookUp(key(1)).entry?.body == text(1))
    store.waitUntilIdle()
    #expect(store.lookUp(key(1)).entry?.body == text(1))
  }

  @Test(arguments: [0, 1])
  func `a variant with the same body in a file keeps it`(removed: UInt64) throws {
    let store = try open()
    try store.put(text(1), for: "a", variant: 0)
    try store.settle()
    let other = try sandbox.open()
    try other.put(text(1), for: "a", variant: 1)
    #expect(sandbox.bodies.count == 1 && sandbox.metadataFiles.count == 2)
    try other.put(text(1), for: "b")
    try store.remove("a", variant: removed)
    #expect(store.lookUp("a", variant: 1 - removed).entry?.body == text(1))
    #expect(store.lookUp("b").entry?.body == text(1))
    #expect(sandbox.bodies.count == (removed == 1 ? 1 : 2))
    store.close()
    other.close()
  }

  @Test func `a program that settles at once changes small entries`() throws {
    let store = try open()
    for number in 0..<3 { try store.put(text(number), for: key(number)) }
    try store.settle()
    let other = try sandbox.open()
    #expect(try other.pin(key(0)))
    #expect(try other.update(key(1)) { $0.status = 304 })
    try other.put(text(7), for: key(2))
    #expect(store.info(for: key(0))?.isPinned == true && store.info(for: key(1))?.status == 304)
    #expect(store.lookUp(key(2)).entry?.body == text(7) && sandbox.bodies.count == 1)
    #expect(store.lookUp(key(0)).entry?.body == text(0))
    #expect(store.lookUp(key(1)).entry?.body == text(1))
    try store.put(text(2), for: key(2))
    try store.settle()
    #expect(sandbox.bodies.isEmpty)
    expectAll(3, other)
    store.close()
    other.close()
    for name in sandbox.segments + ["lock"] { sandbox.remove(name) }
    let again = try open()
    expectAll(3, again)
    #expect(again.info(for: key(0))?.isPinned == true && again.info(for: key(1))?.status == 304)
  }
}
