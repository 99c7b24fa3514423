import CLibrary
import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct StagingTests {
  let sandbox = StoreSandbox()

  @Test func `an error names the session that cannot be opened`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    let name = "00000000000000aa"
    try FileManager.default.createDirectory(
      atPath: sandbox.inside("staging/\(name)"), withIntermediateDirectories: true)
    files.faults.set { $0.kind == .open && $0.name == name ? SystemError(EMFILE) : nil }
    let error = #expect(throws: StoreError.self) { try store.recovery.deadSessionsNow() }
    #expect(error?.path == sandbox.inside("staging/\(name)"))
    files.faults.set(nil)
    store.close()
  }

  @Test func `a store that relinquishes its lock looks closed, and can be used on`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    #expect(store.lookUp("a").entry?.body == [1])
    #expect(sandbox.sessions.count == 1)
    #expect(sandbox.bytes("lock") == [])
    #expect(store.relinquish())
    #expect(sandbox.sessions.isEmpty)
    let mark = sandbox.bytes("lock")
    #expect(mark != [])
    // A look-up takes no lock.
    #expect(store.lookUp("a").entry?.body == [1])
    #expect(sandbox.sessions.isEmpty)

    let other = try sandbox.open()
    #expect(other.statistics.isComplete)
    #expect(other.lookUp("a").entry?.body == [1])
    other.close()
    #expect(sandbox.bytes("lock").count == mark.count)

    try store.put([2], for: "b")
    #expect(sandbox.sessions.count == 1)
    store.close()
    #expect(sandbox.sessions.isEmpty)
    #expect(try sandbox.open().lookUp("b").entry?.body == [2])
  }

  @Test func `a lock that a writer still has is not reported as released`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    var writers = [try store.makeWriter(for: "a")]
    #expect(!store.relinquish() && !store.relinquish())
    writers.append(try store.makeWriter(for: "b"))
    for writer in writers {
      #expect(!store.relinquish())
      writer.discard()
    }
    writers = []
    #expect(store.relinquish() && sandbox.sessions.isEmpty)
  }

  @Test func `a store that is not changed for a while looks closed, and can be used on`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    for number in UInt8(1)...2 {
      try store.put([number], for: "a")
      #expect(sandbox.sessions.count == 1)
      // It has been changed since the last call.
      #expect(!store.catalog.writer.rest() && sandbox.sessions.count == 1)
      #expect(store.catalog.writer.rest() && sandbox.sessions.isEmpty)
      #expect(store.catalog.writer.rest())
      let next = try sandbox.open()
      #expect(!next.catalog.state.withLock { $0.endedUncleanly })
      #expect(next.lookUp("a").entry?.body == [number])
      next.close()
    }
  }

  @Test func `a store does not rest while an entry is being written`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    let writer = try store.makeWriter(for: "a")
    try writer.write([1])
    #expect(
      !store.catalog.writer.rest() && !store.catalog.writer.rest() && sandbox.sessions.count == 1)
    try writer.commit()
    #expect(store.lookUp("a").entry?.body == [1])
  }

  @Test func `a store does not rest if the next opening has to compare tree and journal`() throws {
    var options = Options()
    // Otherwise the upkeep compares them.
    options.isSupervised = true
    let store = try sandbox.open(options)
    defer { store.close() }
    try store.put([1], for: "a")
    store.catalog.tree.staging.noteUnclean()
    for _ in 0..<3 { #expect(store.catalog.writer.rest() && sandbox.sessions.count == 1) }
    #expect(sandbox.bytes("lock") == [])
  }

  @Test func `a shard is changed only while there is a session`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    try store.put([1], for: "a")
    _ = store.catalog.writer.rest()
    #expect(store.catalog.writer.rest() && sandbox.sessions.isEmpty)
    try store.catalog.withShard(of: store.catalog.hash("a")) { _ throws(StoreError) in
      #expect(sandbox.sessions.count == 1)
      #expect(
        !store.catalog.writer.rest() && !store.catalog.writer.rest() && sandbox.sessions.count == 1)
    }
    #expect(store.catalog.writer.rest() && sandbox.sessions.isEmpty)
  }

  @Test func `a store that has moved replaced files away rests`() throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    defer { store.close() }
    try store.put(TestBody.make(2_000, seed: 1), for: "a")
    try store.settle()
    try store.put(TestBody.make(2_000, seed: 2), for: "a")
    #expect(store.catalog.tree.staging.hasReplaced)
    for _ in 0..<3 { _ = store.catalog.writer.rest() }
    #expect(sandbox.sessions.isEmpty)
    #expect(store.lookUp("a").entry?.body == TestBody.make(2_000, seed: 2))
  }

  @Test func `a store rests after another program was killed in the middle of a record`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    try store.put([1], for: "a")
    let segment = try #require(sandbox.segments.last)
    let bytes = sandbox.bytes(segment)
    sandbox.overwrite(segment, bytes + [1, 2, 3, 4])
    for _ in 0..<3 { _ = store.catalog.writer.rest() }
    #expect(sandbox.sessions.isEmpty && sandbox.bytes(segment) == bytes)
  }

  @Test func `a store of a newer program is not marked as closed`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    store.catalog.state.withLock { state in
      state.refusal = .newerFormat(sandbox.root, "of a newer program")
      state.isClosed = true
    }
    for _ in 0..<3 { #expect(store.catalog.writer.rest()) }
    #expect(sandbox.sessions.count == 1 && sandbox.bytes("lock") == [])
  }

  @Test func `nothing is left to settle that would take the lock again`() throws {
    var options = Options()
    options.settling = .within(seconds: 3_600)
    let store = try Store(at: sandbox.root, options: options)
    defer { store.close() }
    try store.put([1], for: "a")
    #expect(store.statistics.unsettledEntries == 1)
    store.relinquish()
    #expect(store.statistics.unsettledEntries == 0 && sandbox.sessions.isEmpty)
  }

  @Test func `an entry that is being written keeps the lock until its end`() throws {
    let store = try sandbox.open()
    do {
      let writer = try store.makeWriter(for: "a")
      try writer.write([1, 2, 3])
      store.relinquish()
      #expect(sandbox.sessions.count == 1)
      try writer.commit()
    }
    #expect(store.lookUp("a").entry?.body == [1, 2, 3])
    store.relinquish()
    #expect(sandbox.sessions.isEmpty)
  }

  @Test func `a discarded writer ends the session that was given up`() throws {
    let store = try sandbox.open()
    do {
      let writer = try store.makeWriter(for: "a")
      try writer.write([1])
      store.relinquish()
      #expect(sandbox.sessions.count == 1)
      writer.discard()
    }
    #expect(sandbox.sessions.isEmpty)
  }

  @Test func `a call that still runs while the store is closed puts its files in place`() throws {
    let files = FaultyFiles()
    var options = Options(fileSystem: files)
    options.settling = .atOnce
    let store = try Store(at: sandbox.root, options: options)
    let body = [UInt8](repeating: 1, count: 40_000)
    try store.put(body, for: "a")
    let closes = Atomic<Bool>(true)
    files.faults.set { call in
      // The metadata file is about to get its name; the record has been appended.
      if call.kind == .rename, closes.exchange(false, ordering: .relaxed) { store.close() }
      return nil
    }
    try store.put(body + [2], for: "a")
    files.faults.set(nil)
    #expect(!closes.load(ordering: .relaxed) && sandbox.sessions.isEmpty)
    // The tree alone has the entry.
    try FileManager.default.removeItem(atPath: sandbox.root + "/journal")
    let again = try sandbox.open()
    again.waitUntilIdle()
    #expect(again.lookUp("a").entry?.body == body + [2])
  }

  @Test func `what could not be removed keeps the sign of it`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    files.faults.set { $0.kind == .removeFile ? SystemError(EIO) : nil }
    try store.remove("a")
    store.relinquish()
    files.faults.set(nil)
    #expect(sandbox.sessions.count == 1)
    store.close()
    let next = try sandbox.open()
    next.waitUntilIdle()
    #expect(sandbox.sessions.isEmpty)
    #expect(sandbox.tree("entries").keys.allSatisfy { !$0.hasSuffix(".body") })
  }

  @Test func `a directory of entries is swept when it cannot be moved back any more`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    let session = try #require(store.catalog.tree.staging.session)
    let name =
      sandbox.inside("staging/\(session.name.text)/")
      + Staging.nameOfMoved(after: 7, session).text
    #expect(unsafe mkdir(name, 0o700) == 0)
    func isThere() -> Bool { unsafe access(name, F_OK) == 0 }
    store.catalog.tree.staging.sweep(upTo: 7) { true }
    #expect(isThere())
    store.catalog.tree.staging.sweep(upTo: 8) { true }
    #expect(!isThere())
    store.close()
  }

  @Test func `a closed or read-only store relinquishes nothing`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    let reader = try sandbox.open(Options(isReadOnly: true))
    reader.relinquish()
    #expect(sandbox.sessions.count == 1)
    store.close()
    let mark = sandbox.bytes("lock")
    store.relinquish()
    #expect(sandbox.bytes("lock") == mark)
  }

  @Test func `a session that cannot be opened leaves no directory`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    defer { store.close() }
    files.faults.set { $0.kind == .open && $0.name.count == 16 ? SystemError(EMFILE) : nil }
    for _ in 0..<3 { #expect(throws: StoreError.self) { try store.put([1], for: "a") } }
    #expect(sandbox.sessions.isEmpty)
    files.faults.set(nil)
    try store.put([1], for: "a")
    #expect(sandbox.sessions.count == 1)
  }

  @Test func `what could not be removed once is removed by the upkeep`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    defer { store.close() }
    try store.put(TestBody.make(2_000, seed: 1), for: "a")
    files.faults.set { $0.kind == .removeFile ? SystemError(EMFILE) : nil }
    #expect(try store.remove("a") == 1)
    #expect(sandbox.bodies.count == 1)
    files.faults.set(nil)
    store.upkeep.request(.evict)
    store.waitUntilIdle()
    #expect(sandbox.bodies.isEmpty && sandbox.metadataFiles.isEmpty)
    #expect(store.relinquish() && sandbox.sessions.isEmpty)
  }

  @Test func `what can never be removed does not cost one comparison after the other`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(TestBody.make(2_000, seed: 1), for: "a")
    files.faults.set { $0.kind == .removeFile ? .inputOutput : nil }
    #expect(try store.remove("a") == 1)
    let before = monotonicNanoseconds()
    store.upkeep.request(.evict)
    store.waitUntilIdle()
    let next = store.upkeep.state.wait { $0.dueAt[.reconcile] ?? 0 }
    #expect(next >= before + 60_000_000_000)
    files.faults.set(nil)
    store.close()
  }

  @Test func `replaced files that could not be deleted once are deleted later`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(fileSystem: files), settling: .within(seconds: 3_600))
    defer { store.close() }
    let staging = store.catalog.tree.staging
    for key in ["a", "b", "c"] as [ByteString] {
      try store.put(TestBody.make(2_000, seed: 1), for: key)
      try store.settle()
      try store.put(TestBody.make(2_000, seed: 2), for: key)
    }
    func inSession() throws -> Int {
      let session = try #require(staging.session)
      return sandbox.tree("staging/\(session.name.text)").count
    }
    let replaced = try inSession()
    #expect(staging.hasReplaced && replaced > 0)
    files.faults.set { $0.kind == .open ? SystemError(EMFILE) : nil }
    // Each is tried once: a pass comes to its end.
    while !staging.sweepReplaced(until: 0) {}
    staging.sweep(upTo: 0) { true }
    #expect(staging.hasReplaced)
    files.faults.set(nil)
    staging.sweepReplaced()
    #expect(try inSession() == 0 && !staging.hasReplaced)
  }

  @Test func `removed entries that could not be deleted once are deleted later`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    defer { store.close() }
    try store.put(TestBody.make(2_000, seed: 1), for: "a")
    files.faults.set { $0.kind == .open && $0.name.count == 33 ? SystemError(EMFILE) : nil }
    try store.removeAll()
    store.waitUntilIdle()
    let session = try #require(store.catalog.tree.staging.session)
    func isEmpty() -> Bool { sandbox.tree("staging/\(session.name.text)").isEmpty }
    #expect(!isEmpty())
    files.faults.set(nil)
    store.upkeep.request(.evict)
    store.waitUntilIdle()
    #expect(isEmpty())
  }
}
