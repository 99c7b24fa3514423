import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// A process reads the journal while another one changes its end. What it sees for a moment is no
/// damage, which would cost entries in the log.
@Suite struct FollowRaceTests {
  let sandbox = StoreSandbox()

  private func open(_ options: Options = Options()) throws -> Store {
    try sandbox.open(options, settling: .within(seconds: 3_600))
  }

  private func segment() throws -> FileHandle {
    try #require(FileHandle(forUpdatingAtPath: sandbox.inside(sandbox.segments[0])))
  }

  /// The disk was full before all records were written. Another process may have read the first one.
  @Test(arguments: [1, 63, 64, 65, 127])
  func `a failed append keeps the records that are whole`(written: Int) throws {
    let files = FaultyFiles()
    let writer = try open(Options(fileSystem: files))
    for key: ByteString in ["log", "a", "b"] { try writer.put(key.bytes, for: key) }
    let reader = try open()
    let end = try segment().seekToEnd()
    #expect(throws: StoreError.self) {
      try writer.catalog.writer.append { state throws(StoreError) -> [[UInt8]] in
        // The next calls are a query of the segment's links and the writes.
        files.faults.play([.short(.max), .short(written), .fail(SystemError(ENOSPC))])
        return ["a", "b"].map {
          RemoveRecord(keyHash: writer.catalog.hash($0), variant: 0, reason: .count).bytes
        }
      }
    }
    files.faults.set(nil)
    let kept: UInt64 = written < 64 ? 0 : 64
    #expect(try segment().seekToEnd() == end + kept)
    try writer.put([7], for: "next")
    for store in [reader, writer] {
      #expect(store.contains("a") == (kept == 0))
      for key: ByteString in ["log", "b", "next"] { #expect(store.contains(key)) }
      store.waitUntilIdle()
      #expect(store.statistics.journalDamages == 0 && store.statistics.isComplete)
    }
    for store in [reader, writer] { store.close() }
  }

  @Test(arguments: [false, true])
  func `half a record that a quota keeps is no damage for others`(isStreaming: Bool) throws {
    let files = FaultyFiles()
    let writer = try open(Options(fileSystem: files))
    try writer.put([1], for: "log")
    // A body that is being written uses the session.
    let stream = isStreaming ? try writer.makeWriter(for: "long") : nil
    defer { stream?.discard() }
    let end = try segment().seekToEnd()
    #expect(throws: StoreError.self) {
      try writer.catalog.writer.append { state throws(StoreError) -> [[UInt8]] in
        let full = Faults.Step.fail(SystemError(EDQUOT))
        // A query of the segment's links, the writes, a query of the length, and the cut.
        files.faults.play([.short(.max), .short(40), full, .short(.max), full])
        return [RemoveRecord(keyHash: writer.catalog.hash("a"), variant: 0, reason: .count).bytes]
      }
    }
    files.faults.set(nil)
    #expect(try segment().seekToEnd() == end + 40)
    let other = try open()
    other.waitUntilIdle()
    try writer.put([2], for: "next")
    for store in [other, writer] {
      #expect(store.statistics.journalDamages == 0 && store.statistics.isComplete)
      #expect(store.lookUp("log").entry?.body == [1] && store.lookUp("next").entry?.body == [2])
      store.close()
    }
  }

  @Test func `the tree has what somebody has cut off the journal`() throws {
    let writer = try open()
    let end = try segment().seekToEnd()
    try writer.put(TestBody.make(20_000, seed: 1), for: "files")
    let reader = try open()
    try segment().truncate(atOffset: end)
    _ = reader.lookUp("files")
    reader.close()
    writer.close()
    #expect(try open().lookUp("files").entry?.body == TestBody.make(20_000, seed: 1))
  }

  @Test(arguments: [false, true], [false, true])
  func `a removal that somebody has cut off brings nothing back`(
    isReplaced: Bool, isUnreadable: Bool
  ) throws {
    let files = FaultyFiles()
    let store = try open(Options(fileSystem: files))
    try store.put([1], for: "a")
    let end = try segment().seekToEnd()
    if isReplaced { try store.put([2], for: "a") } else { try store.remove("a") }
    try segment().truncate(atOffset: end)
    if isUnreadable {
      files.faults.set {
        $0.kind == .open && $0.name.hasSuffix(".log") ? SystemError(EMFILE) : nil
      }
      #expect(store.lookUp("a").entry?.body != [1])
      files.faults.set(nil)
    }
    for _ in 0..<3 {
      #expect(store.lookUp("a").entry?.body != [1])
      store.waitUntilIdle()
    }
    #expect(store.catalog.isJournalWhole)
    try store.put([3], for: "a")
    store.close()
    #expect(try open().lookUp("a").entry?.body == [3])
  }

  @Test func `a store goes on after somebody has cut off the journal`() throws {
    let store = try open()
    let other = try open()
    let end = try segment().seekToEnd()
    try store.put(TestBody.make(20_000, seed: 1), for: "files")
    _ = other.lookUp("files")
    try segment().truncate(atOffset: end)
    for store in [store, other] {
      store.waitUntilIdle()
      _ = store.lookUp("files")
      store.waitUntilIdle()
      #expect(store.lookUp("files").entry?.body == TestBody.make(20_000, seed: 1))
    }
    try store.put([1], for: "next")
    #expect(other.lookUp("next").entry?.body == [1])
    for store in [store, other] {
      #expect(store.catalog.isJournalWhole)
      store.close()
    }
    let again = try open()
    #expect(again.statistics.journalDamages == 0 && again.statistics.entries == 2)
    again.close()
  }

  /// Half a record of a killed process is cut off and overwritten while somebody reads it.
  @Test func `bytes that change while they are read are read again`() throws {
    let writer = try open()
    try writer.put([1], for: "log")
    let files = FaultyFiles()
    let reader = try open(Options(fileSystem: files))
    let file = try segment()
    let end = try file.seekToEnd()
    try writer.put([2], for: "a")
    try writer.put([3], for: "b")
    try file.seek(toOffset: end + 64)
    let bytes = try #require(try file.read(upToCount: 8))
    let reads = Atomic(0)
    files.faults.set { call in
      guard call.kind == .read else { return nil }
      let count = reads.add(1, ordering: .relaxed).newValue
      if count > 2 { return nil }
      try? file.seek(toOffset: end + 64)
      try? file.write(contentsOf: count == 1 ? Data(repeating: 0xEE, count: 8) : bytes)
      return nil
    }
    #expect(reader.lookUp("b").entry?.body == [3])
    #expect(reads.load(ordering: .relaxed) > 1)
    for key: ByteString in ["log", "a", "b"] { #expect(reader.lookUp(key).entry != nil) }
    #expect(reader.statistics.journalDamages == 0 && reader.statistics.isComplete)
    reader.close()
    writer.close()
  }
}
