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

  /// A full disk: the first of the records that belong together was written, and is cut off again.
  @Test func `records that are cut off because their append failed are forgotten`() throws {
    let writer = try open()
    try writer.put([1], for: "log")
    let reader = try open()
    let file = try segment()
    let end = try file.seekToEnd()
    try writer.put([2], for: "undone")
    #expect(reader.lookUp("undone").entry?.body == [2])
    try file.truncate(atOffset: end)
    #expect(reader.lookUp("undone").entry == nil)
    #expect(reader.lookUp("log").entry?.body == [1])
    #expect(reader.statistics.journalDamages == 0 && reader.statistics.isComplete)
    try reader.put([3], for: "next")
    let other = try open()
    for store in [reader, other] {
      store.waitUntilIdle()
      #expect(store.lookUp("log").entry?.body == [1])
      #expect(store.lookUp("next").entry?.body == [3])
      #expect(store.statistics.journalDamages == 0 && store.statistics.isComplete)
    }
    for store in [other, reader, writer] { store.close() }
  }

  @Test func `records that were there at opening count as damaged when they are cut off`() throws {
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
