import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@testable import CacheStore

/// Entries of which the index may have an earlier version.
@Suite struct RecoveryTakeUpTests {
  let sandbox = StoreSandbox()

  enum Change: String, CaseIterable, Sendable { case removed, replaced }

  /// Copies a store in use whose entry "a" is in the log only, and was changed by a record that is
  /// damaged in the copy.
  private func damagedCopy(_ change: Change) throws -> String {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    defer { store.close() }
    try store.put([1], for: "a")
    let segment = try #require(sandbox.segments.last)
    let end = sandbox.bytes(segment).count
    switch change {
    case .removed: try store.remove("a")
    case .replaced: try store.put([2], for: "a")
    }
    try store.put([3], for: "b")
    let copy = sandbox.path + "/copy"
    try FileManager.default.copyItem(atPath: sandbox.root, toPath: copy)
    let handle = try #require(FileHandle(forUpdatingAtPath: "\(copy)/\(segment)"))
    try handle.seek(toOffset: UInt64(end + 24))
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: UInt64(end + 24))
    try handle.write(contentsOf: Data([byte ^ 0x10]))
    try handle.close()
    return copy
  }

  @Test(arguments: Change.allCases, [true, false])
  func `no call returns an earlier version`(change: Change, isReadOnly: Bool) throws {
    var options = Options(isReadOnly: isReadOnly)
    options.settling = .within(seconds: 3_600)
    options.isSupervised = !isReadOnly
    let store = try Store(at: try damagedCopy(change), options: options)
    defer { store.close() }
    #expect(!store.catalog.isJournalWhole)
    guard case .miss(.damaged) = store.lookUp("a"), case .miss(.damaged) = store.read("a") else {
      Issue.record("an earlier version is returned")
      return
    }
    #expect(store.info(for: "a") == nil && !store.contains("a"))
    #expect(store.variants(of: "a").isEmpty)
    #expect(store.entries().map(\.key) == ["b"])
    if !isReadOnly {
      #expect(try !store.update("a") { $0.status = 201 })
      #expect(try !store.pin("a"))
    }
    #expect(store.lookUp("b").entry?.body == [3])
  }

  /// The record of its removal is damaged, and its files are gone.
  @Test(arguments: [true, false], [true, false])
  func `an entry without files is not served`(isReadOnly: Bool, hasOther: Bool) throws {
    var store = try sandbox.open()
    try store.put([1], for: "a")
    if hasOther { try store.put([2], for: "a", variant: 1) }
    try store.settle()
    let segment = try #require(sandbox.segments.last)
    let end = sandbox.bytes(segment).count
    try store.remove("a", variant: 0)
    try store.put([3], for: "b")
    store.close()
    sandbox.flip(segment, at: end + 24)
    var options = Options(isReadOnly: isReadOnly)
    options.isSupervised = true
    store = try sandbox.open(options)
    guard case .miss = store.lookUp("a"), case .miss = store.read("a") else {
      Issue.record("a removed entry is returned")
      return
    }
    #expect(store.info(for: "a") == nil && store.lookUp("b").entry?.body == [3])
    if !isReadOnly {
      store.recovery.reconcile()
      #expect(store.catalog.isJournalWhole && store.lookUp("a").entry == nil)
    }
    #expect(store.lookUp("a", variant: 1).entry?.body == (hasOther ? [2] : nil))
    store.close()
  }

  @Test func `a list beside an end that cannot be read now forgets nothing`() throws {
    var store = try sandbox.open()
    try store.put([1], for: "a")
    try store.put(TestBody.make(5_000, seed: 1), for: "b")
    store.close()
    let files = FaultyFiles()
    files.faults.set {
      $0.kind == .read && $0.name.hasSuffix(".log") && $0.offset > 0 ? .inputOutput : nil
    }
    store = try sandbox.open(Options(isReadOnly: true, fileSystem: files))
    _ = store.entries().map(\.key)
    files.faults.set(nil)
    #expect(store.entries().map(\.key.description).sorted() == ["a", "b"])
    for key in ["a", "b"] { #expect(store.contains(ByteString(key))) }
    store.close()
  }

  @Test func `a list of a store that is only read has no entry that may be removed`() throws {
    var store = try sandbox.open()
    try store.put([1], for: "a")
    try store.put([2], for: "long")
    try store.put([3], for: "kept")
    try store.settle()
    let segment = try #require(sandbox.segments.last)
    let end = sandbox.bytes(segment).count
    try store.remove("a")
    try store.remove("long")
    try store.put([4], for: "b")
    store.close()
    for place in [24, 104] { sandbox.flip(segment, at: end + place) }
    store = try sandbox.open(Options(isReadOnly: true))
    #expect(store.entries().map(\.key.description).sorted() == ["b", "kept"])
    #expect(store.lookUp("a").entry == nil && store.lookUp("long").entry == nil)
    #expect(store.lookUp("kept").entry?.body == [3])
    store.close()
  }

  @Test func `a copy is not current while the end of the journal cannot be read`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    try store.put([1], for: "a")
    let outline = store.outline(of: "a")
    #expect(store.revisit("a", outline))
    let other = try sandbox.open(settling: .within(seconds: 3_600))
    try other.put([2], for: "a")
    files.faults.set { $0.kind == .read ? .inputOutput : nil }
    #expect(!store.revisit("a", outline))
    files.faults.set(nil)
    #expect(!store.revisit("a", outline))
    #expect(store.lookUp("a").entry?.body == [2])
    store.close()
    other.close()
  }

  @Test func `a removal of all entries meanwhile is no error`() throws {
    var store = try sandbox.open()
    try store.put([1], for: "a")
    store.close()
    sandbox.remove("journal")
    let files = FaultyFiles()
    var options = Options(fileSystem: files)
    options.isSupervised = true
    store = try sandbox.open(options)
    let other = try sandbox.open()
    let shard = Layout.shard(Layout.shardNumber(of: store.catalog.hash("a"))).text
    files.faults.set { call in
      guard call.kind == .open || call.kind == .makeDirectory, call.name == shard, call.place < 40
      else { return nil }
      if (try? other.removeAll()) != nil { other.waitUntilIdle() }
      return nil
    }
    #expect(try store.remove("a") == 0)
    files.faults.set(nil)
    try store.put([2], for: "a")
    #expect(store.lookUp("a").entry?.body == [2])
    store.close()
    other.close()
  }
}
