import CacheFormat
import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import CacheStore

/// Entries that are first stored in the journal.
@Suite struct StoreLogTests {
  let sandbox = StoreSandbox()
  /// Long enough that the upkeep settles nothing by itself.
  private let later = Settling.within(seconds: 3_600)

  private func open(_ change: (inout Options) -> Void = { _ in }) throws -> Store {
    var options = Options()
    change(&options)
    return try sandbox.open(options, settling: later)
  }

  /// A body that gets a file of its own.
  private func body(_ seed: Int) -> [UInt8] { TestBody.make(2_000, seed: UInt64(seed)) }

  /// Copies the store as a kill would leave it now, and changes its first segment.
  private func copy(
    _ name: String, changing change: (inout [UInt8]) throws -> Void
  ) throws -> String {
    let path = "\(sandbox.path)/\(name)"
    try FileManager.default.copyItem(atPath: sandbox.root, toPath: path)
    let segment = URL(filePath: "\(path)/journal/00000001.log")
    var bytes = [UInt8](try Data(contentsOf: segment))
    try change(&bytes)
    try Data(bytes).write(to: segment)
    return path
  }

  @Test(arguments: [0, 1, 7, 8, 9, 1_024, 1_025, 16_383, 16_384])
  func `a small body is in the journal first and in files when it is settled`(count: Int) throws {
    let store = try open()
    let body = TestBody.make(count, seed: 1)
    try store.put(body, for: "a", metadata: EntryMetadata(status: 200))
    #expect(sandbox.bodies.isEmpty && sandbox.metadataFiles.isEmpty)
    #expect(store.statistics.unsettledEntries == 1)
    #expect(store.lookUp("a").entry?.body == body)
    #expect(store.lookUp("a").entry?.info.status == 200)

    try store.settle()
    #expect(sandbox.bodies.count == (count > 1_024 ? 1 : 0) && sandbox.metadataFiles.count == 1)
    #expect(store.statistics.unsettledEntries == 0)
    #expect(store.lookUp("a").entry?.body == body)
  }

  @Test func `a body that is longer than 16 KiB is in files at once`() throws {
    let store = try open()
    try store.put(TestBody.make(16_385, seed: 1), for: "a")
    #expect(sandbox.bodies.count == 1)
    #expect(store.statistics.unsettledEntries == 0)
  }

  @Test func `entries are settled within the time`() throws {
    let store = try sandbox.open(settling: .within(seconds: 1))
    try store.put([1], for: "a")
    while store.statistics.unsettledEntries > 0 { pause(nanoseconds: 20_000_000) }
    #expect(sandbox.metadataFiles.count == 1)
  }

  @Test func `by default entries are settled within 5 seconds`() throws {
    let clock = SteppingClock()
    let store = try Store(at: sandbox.root, options: Options(clock: clock))
    try store.put([1], for: "a")
    let (due, failure) = store.settler.settleStep()
    #expect(due == 5_000_000_000 && failure == nil)
    #expect(store.statistics.unsettledEntries == 1)
    clock.move(seconds: 5)
    #expect(store.settler.settleStep().after == nil)
    #expect(store.statistics.unsettledEntries == 0)
  }

  @Test func `an entry that is replaced before it is settled never has files`() throws {
    let store = try open()
    for number in 0..<10 { try store.put(body(number), for: "a") }
    try store.settle()
    #expect(sandbox.bodies.count == 1)
    #expect(store.lookUp("a").entry?.body == body(9))
  }

  @Test func `a settled entry that is replaced loses its files at once`() throws {
    let store = try open()
    try store.put(body(1), for: "a")
    try store.put(body(2), for: "a", variant: 1)
    try store.settle()
    try store.put(body(3), for: "a")
    #expect(sandbox.bodies.count == 1 && sandbox.metadataFiles.count == 1)
    #expect(store.lookUp("a").entry?.body == body(3))
    #expect(store.lookUp("a", variant: 1).entry?.body == body(2))
  }

  @Test func `the directory of a replaced key is moved away and deleted later`() throws {
    let store = try open()
    try store.put(body(1), for: "a")
    try store.settle()
    let key = try #require(sandbox.metadataFiles.first?.split(separator: "/").dropLast())
    try Data("mine".utf8).write(
      to: URL(filePath: sandbox.inside("\(key.joined(separator: "/"))/notes.txt")))
    try store.put(body(2), for: "a")
    #expect(sandbox.bodies.isEmpty && sandbox.metadataFiles.isEmpty)
    #expect(sandbox.tree("staging").keys.contains { $0.hasSuffix(".body") })
    #expect(store.lookUp("a").entry?.body == body(2))
    try store.settle()
    #expect(!sandbox.tree("staging").keys.contains { $0.hasSuffix(".body") })
    #expect(sandbox.bodies.count == 1 && store.lookUp("a").entry?.body == body(2))
    // A file that the store has not made is kept.
    #expect(sandbox.tree("quarantine").keys.contains { $0.hasSuffix("/notes.txt") })
  }

  @Test func `a longer body is deleted at once when a shorter one replaces it`() throws {
    let store = try open()
    try store.put(TestBody.make(100_000, seed: 1), for: "a")
    try store.put([2], for: "a")
    #expect(!sandbox.tree().keys.contains { $0.hasSuffix(".body") })
  }

  @Test func `what a killed process has replaced is deleted by the next one`() throws {
    let store = try open()
    try store.put([1], for: "a")
    try store.settle()
    try store.put([2], for: "a")
    let path = try copy("killed") { _ in }
    let again = try Store(at: path, options: Options(settling: .within(seconds: 3_600)))
    again.waitUntilIdle()
    let left = FileManager.default.enumerator(atPath: path)?.compactMap { "\($0)" } ?? []
    #expect(!left.contains { $0.hasSuffix(".body") })
    #expect(again.lookUp("a").entry?.body == [2])
  }

  @Test func `what is in the log is there after a kill and is settled then`() throws {
    let store = try open()
    try store.put([1], for: "a")
    try store.settle()
    try store.put([2], for: "a")
    try store.put([3], for: "b")
    let again = try Store(
      at: try copy("killed") { _ in }, options: Options(settling: .within(seconds: 3_600)))
    again.waitUntilIdle()
    #expect(again.statistics.unsettledEntries == 2)
    #expect(again.lookUp("a").entry?.body == [2] && again.lookUp("b").entry?.body == [3])
    try again.settle()
    #expect(again.statistics.unsettledEntries == 0)
    #expect(again.lookUp("a").entry?.body == [2] && again.lookUp("b").entry?.body == [3])
  }

  @Test func `closing settles`() throws {
    let store = try open()
    for number in 0..<50 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    store.close()
    #expect(sandbox.metadataFiles.count == 50)
  }

  @Test func `metadata and pin of an entry in the log can be changed`() throws {
    let store = try open()
    try store.put([1, 2, 3], for: "a", metadata: EntryMetadata(status: 200))
    let created = try #require(store.info(for: "a")?.created)
    for settles in [false, true] {
      if settles { try store.settle() }
      #expect(try store.update("a") { $0.status = settles ? 404 : 304 })
      #expect(try store.pin("a"))
      let entry = try #require(store.lookUp("a").entry)
      #expect(entry.body == [1, 2, 3] && entry.info.status == (settles ? 404 : 304))
      #expect(entry.info.isPinned && entry.info.created == created)
      try store.settle()
      #expect(sandbox.bodies.isEmpty && sandbox.metadataFiles.count == 1)
      #expect(store.lookUp("a").entry?.body == [1, 2, 3])
    }
  }

  @Test func `an entry in the log can be removed and evicted`() throws {
    let store = try open()
    for key: ByteString in ["a", "b", "c"] { try store.put([1], for: key) }
    #expect(try store.remove("a") == 1)
    try store.setLimits(Limits(entries: 1))
    #expect(store.statistics.entries == 1 && store.statistics.unsettledEntries == 1)
    try store.removeAll()
    #expect(store.statistics.unsettledEntries == 0)
    try store.settle()
    #expect(sandbox.bodies.isEmpty)
  }

  @Test func `equal bodies share one file when they are settled`() throws {
    let store = try open()
    let body = TestBody.make(9_000, seed: 3)
    for key: ByteString in ["a", "b", "c"] { try store.put(body, for: key) }
    #expect(store.statistics.sharedBytes == 0)
    try store.settle()
    #expect(store.statistics.sharedBytes == 18_000)
    #expect(Set(sandbox.bodies.map { sandbox.tree()[$0]?.inode }).count == 1)
  }

  @Test func `the budget of the log holds, and what is beyond it goes to the tree`() throws {
    let store = try open { $0.journal = JournalSizes(logBytes: 64 << 10) }
    var most: UInt64 = 0
    for number in 0..<200 {
      try store.put(TestBody.make(2_000, seed: UInt64(number)), for: ByteString("k\(number)"))
      most = max(most, store.statistics.journalBytes)
    }
    for number in 0..<200 {
      #expect(
        store.lookUp(ByteString("k\(number)")).entry?.body
          == TestBody.make(2_000, seed: UInt64(number)))
    }
    #expect(most < 64 << 10 + 1 << 20)
  }

  @Test func `segments are dropped without their bodies`() throws {
    let store = try open { $0.journal = JournalSizes(logBytes: 256 << 10) }
    for number in 0..<100 {
      try store.put(TestBody.make(2_000, seed: UInt64(number)), for: ByteString("k\(number)"))
    }
    try store.settle()
    try store.purge()
    #expect(store.statistics.journalBytes < 40_000)
    store.close()
    let again = try open()
    for number in 0..<100 {
      #expect(
        again.lookUp(ByteString("k\(number)")).entry?.body
          == TestBody.make(2_000, seed: UInt64(number)))
    }
  }

  @Test func `a body whose file a loss of power took outlives its segment`() throws {
    var store = try open()
    try store.put([1, 2, 3], for: "a")
    store.close()
    for body in sandbox.bodies {
      try FileManager.default.removeItem(atPath: sandbox.inside(body))
    }
    store = try open()
    let before = sandbox.segments
    try store.purge()
    #expect(sandbox.segments.first != before.first)
    #expect(store.lookUp("a").entry?.body == [1, 2, 3])
    store.close()
  }

  @Test func `what is stored after the journal was lost stays`() throws {
    var store = try open()
    for number in 0..<300 { try store.put([UInt8(number & 255)], for: "old\(number)") }
    // Closing settles for a second at most.
    try store.settle()
    store.close()
    // A loss of power took the records and the closing mark, and left the files.
    for (path, count) in [(sandbox.inside(sandbox.segments[0]), 64), (sandbox.inside("lock"), 0)] {
      let file = try #require(FileHandle(forUpdatingAtPath: path))
      try file.truncate(atOffset: UInt64(count))
      try file.close()
    }
    store = try open()
    try store.put([7], for: "new")
    store.waitUntilIdle()
    #expect(store.lookUp("new").entry?.body == [7])
    #expect(store.lookUp("old299").entry?.body == [43])
    store.close()
  }

  @Test func `a wrong body in the log costs its entry only`() throws {
    let store = try open()
    let bodies = (0..<3).map { TestBody.make(500, seed: UInt64($0)) }
    for (number, body) in bodies.enumerated() { try store.put(body, for: ByteString("k\(number)")) }
    let path = try copy("damaged") { bytes in
      bytes[try #require(bytes.firstRange(of: bodies[1])).lowerBound + 100] ^= 1
    }
    let again = try Store(at: path, options: Options(settling: later))
    #expect(again.lookUp("k0").entry?.body == bodies[0])
    if case .miss(let reason) = again.lookUp("k1") { #expect(reason == .damaged) }
    #expect(again.lookUp("k1").entry == nil)
    again.waitUntilIdle()
    try again.settle()
    #expect(again.statistics.entries == 2 && again.statistics.unsettledEntries == 0)
    #expect(again.lookUp("k2").entry?.body == bodies[2])
    let kept = try FileManager.default.contentsOfDirectory(atPath: path + "/quarantine")
    #expect(kept.count == 1)
  }

  @Test func `an entry before a lost record is not returned`() throws {
    let store = try open()
    for number in 0..<3 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    try store.put([7], for: "k0")
    try store.put([8], for: "k2")
    // The record of the second version of k0 is damaged, so the first must not be returned.
    let path = try copy("damaged") { bytes in
      bytes[try #require(bytes.ranges(of: Array("k0".utf8)).last).lowerBound] ^= 1
    }
    let again = try Store(at: path, options: Options(settling: later))
    #expect(again.lookUp("k0").entry == nil)
    #expect(again.lookUp("k1").entry == nil)
    #expect(again.lookUp("k2").entry?.body == [8])
    again.waitUntilIdle()
    try again.settle()
    #expect(again.lookUp("k2").entry?.body == [8])
    #expect(again.statistics.entries == 1)
  }

  @Test(arguments: [Durability.process, .full])
  func `after a restart the newest segment ends at a wrong body`(durability: Durability) throws {
    let store = try open {
      $0.durability = durability
      $0.bootName = [1]
    }
    let bodies = (0..<4).map { TestBody.make(500, seed: UInt64($0)) }
    try store.put(bodies[0], for: "a")
    try store.put(bodies[1], for: "b")
    try store.settle()
    try store.put(bodies[2], for: "a")
    try store.put(bodies[3], for: "c")
    let path = try copy("restarted") { bytes in
      let place = try #require(bytes.firstRange(of: bodies[2])).lowerBound
      for offset in 0..<500 { bytes[place + offset] = 0 }
    }
    var options = Options(durability: durability, settling: later)
    options.bootName = [2]
    let again = try Store(at: path, options: options)
    again.waitUntilIdle()
    // The new version of a was not synced, so the old one counts.
    #expect(again.lookUp("a").entry?.body == bodies[0])
    #expect(again.lookUp("b").entry?.body == bodies[1])
    #expect(again.lookUp("c").entry == nil)
  }

  @Test func `a store of format 1 goes on in format 2 when nobody else has it open`() throws {
    let old = try sandbox.open()
    try old.put([1], for: "a")
    let second = try open()
    try second.put([2], for: "b")
    #expect(second.statistics.unsettledEntries == 0, "another process has the store open")
    second.close()
    old.close()
    let third = try open()
    try third.put([3], for: "c")
    #expect(third.statistics.unsettledEntries == 0, "the next segment has format 2")
    try third.put([4], for: "d")
    #expect(third.statistics.unsettledEntries == 1)
    for (key, body) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
      #expect(third.lookUp(ByteString(key)).entry?.body == [UInt8(body)])
    }
  }

  @Test func `a small body can be read in pieces from the log`() throws {
    let store = try open()
    let body = TestBody.make(5_000, seed: 9)
    try store.put(body, for: "a")
    guard case .hit(_, let reader) = store.read("a") else {
      Issue.record("it is missing")
      return
    }
    try store.remove("a")
    #expect(reader.descriptor == nil && reader.isVerified)
    #expect(try reader.read(upTo: 3_000) + reader.read(upTo: 3_000) == body)
    #expect(try reader.read(at: 4_999, upTo: 10) == [body[4_999]])
  }

  @Test func `a small body that is written in pieces is in the log`() throws {
    let store = try open()
    let writer = try store.makeWriter(for: "a")
    for number in 0..<10 { try writer.write([UInt8](repeating: UInt8(number), count: 100)) }
    try writer.commit()
    #expect(store.statistics.unsettledEntries == 1)
    #expect(store.lookUp("a").entry?.body.count == 1_000)
  }

  @Test func `settling within 0 seconds is refused`() {
    for seconds in [0, -1] {
      #expect(throws: StoreError.self) {
        try sandbox.open(settling: .within(seconds: seconds))
      }
    }
  }

  @Test func `two stores follow what the other has in the log and settles`() throws {
    let first = try open()
    try first.put([1], for: "a")
    let second = try open()
    #expect(second.lookUp("a").entry?.body == [1])
    try second.put([2], for: "b")
    #expect(first.lookUp("b").entry?.body == [2])
    try second.settle()
    #expect(first.statistics.unsettledEntries == 0)
    try first.put([3], for: "a")
    #expect(second.lookUp("a").entry?.body == [3])
    try first.settle()
    try second.purge()
    #expect(first.lookUp("a").entry?.body == [3] && first.lookUp("b").entry?.body == [2])
  }
}
