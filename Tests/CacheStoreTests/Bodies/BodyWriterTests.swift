import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@Suite struct BodyWriterTests {
  let sandbox = StoreSandbox()

  /// The files in staging; directories of sessions do not count.
  private var staged: [String] {
    sandbox.tree("staging").filter { !$0.value.isDirectory }.keys.sorted()
  }

  @Test(arguments: [0, 1, 70_000]) func `what is written in pieces is stored at commit`(count: Int)
    throws
  {
    let store = try sandbox.open()
    let body = TestBody.make(count, seed: 1)
    let writer = try store.makeWriter(
      for: "k", variant: 3, metadata: EntryMetadata(status: 100))
    for start in stride(from: 0, to: count, by: 999) {
      try writer.write(Array(body[start..<min(count, start + 999)]))
    }
    #expect(writer.length == UInt64(count))
    #expect(store.lookUp("k", variant: 3).entry == nil)
    let info = try writer.commit(metadata: EntryMetadata(status: 200))
    #expect(info.length == UInt64(count))
    #expect(info.digest == Digest(hashing: body))
    #expect(store.lookUp("k", variant: 3).entry?.body == body)
    #expect(store.info(for: "k", variant: 3)?.status == 200)
    #expect(staged == [])
    #expect(try sandbox.open().lookUp("k", variant: 3).entry?.body == body)
  }

  @Test func `a writer that is discarded or goes away leaves nothing`() throws {
    let store = try sandbox.open()
    try store.put([9], for: "k")
    do {
      let writer = try store.makeWriter(for: "k")
      try writer.write([1, 2, 3])
      #expect(staged.count == 1)
    }
    #expect(staged == [])
    let writer = try store.makeWriter(for: "k")
    try writer.write([1, 2, 3])
    writer.discard()
    writer.discard()
    #expect(staged == [])
    let error = #expect(throws: StoreError.self) { try writer.write([1]) }
    #expect(error?.code == .closed)
    #expect(#expect(throws: StoreError.self) { try writer.commit() }?.code == .closed)
    #expect(store.lookUp("k").entry?.body == [9])
    #expect(sandbox.bodies.count == 1)
  }

  @Test(arguments: [0, 2, 4, 70_000])
  func `a body of another length than stated is not stored`(length: UInt64) throws {
    let store = try sandbox.open()
    try store.put([9], for: "k")
    let writer = try store.makeWriter(for: "k", length: length)
    let error = #expect(throws: StoreError.self) {
      try writer.write([1, 2, 3])
      try writer.commit()
    }
    #expect(error?.code == .wrongLength)
    let found = length < 3 ? "more" : "3 bytes"
    #expect(error?.cause == "the body has \(found), not \(length) bytes as stated")
    #expect(store.lookUp("k").entry?.body == [9] && staged == [])
    let estimating = try store.makeWriter(
      for: "k", variant: 0, metadata: EntryMetadata(), length: length, isEstimate: true, past: nil)
    try estimating.write([1, 2, 3])
    try estimating.commit()
    #expect(store.lookUp("k").entry?.body == [1, 2, 3])
  }

  @Test func `a body that is longer than stated evicts nothing`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(limits: Limits(freeBytes: 1 << 20), fileSystem: files))
    for number in 0..<20 { try store.put([UInt8(number)], for: ByteString("\(number)")) }
    let writer = try store.makeWriter(for: "long", length: 4_096)
    try writer.write([UInt8](repeating: 1, count: 4_096))
    files.faults.availableBytes = 1 << 20
    #expect(throws: StoreError.self) { try writer.write([UInt8](repeating: 1, count: 65_536)) }
    #expect(store.statistics.entries == 20)
  }

  @Test(arguments: [Durability.process, .full])
  func `a body is stored although others remove all entries meanwhile`(
    durability: Durability
  ) throws {
    let other = try sandbox.open()
    let files = FaultyFiles()
    let store = try sandbox.open(Options(durability: durability, fileSystem: files))
    let body = TestBody.make(40_000, seed: 2)
    let writer = try store.makeWriter(for: "k")
    try writer.write(body)
    let removals = Atomic(0)
    files.faults.set { call in
      // The body has its name in the entry then.
      if call.kind == .open, call.name.hasSuffix(".json"), call.options.contains(.create),
        removals.add(1, ordering: .relaxed).newValue <= 3
      {
        try? other.removeAll()
        other.waitUntilIdle()
      }
      return nil
    }
    try writer.commit()
    files.faults.set(nil)
    #expect(removals.load(ordering: .relaxed) == 4)
    for reader in [store, other] { #expect(reader.lookUp("k").entry?.body == body) }
    #expect(staged == [])
    for reader in [store, other] { reader.close() }
  }

  @Test func `after a failed sync a writer does not commit again`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(durability: .full, fileSystem: files))
    let writer = try store.makeWriter(for: "k")
    try writer.write([1, 2, 3])
    files.faults.set { $0.kind == .synchronize ? .inputOutput : nil }
    #expect(#expect(throws: StoreError.self) { try writer.commit() }?.code == .inputOutput)
    files.faults.set(nil)
    // A second sync would succeed, and prove nothing.
    #expect(#expect(throws: StoreError.self) { try writer.commit() }?.code == .closed)
    #expect(store.lookUp("k").entry == nil)
    #expect(staged == [])
    store.close()
  }

  @Test func `a writer commits once`() throws {
    let store = try sandbox.open()
    let writer = try store.makeWriter(for: "k")
    try writer.write([1])
    try writer.commit()
    #expect(#expect(throws: StoreError.self) { try writer.commit() }?.code == .closed)
    writer.discard()
    #expect(store.lookUp("k").entry?.body == [1])
  }

  @Test func `a body beyond the limit is refused as soon as it shows`() throws {
    let store = try sandbox.open(Options(limits: Limits(entryBytes: 1_000)))
    let writer = try store.makeWriter(for: "k")
    try writer.write(TestBody.make(1_000, seed: 1))
    #expect(throws: failure(.entryTooLarge, sandbox.root)) { try writer.write([1]) }
    #expect(staged == [])
    #expect(#expect(throws: StoreError.self) { try writer.commit() }?.code == .closed)
    #expect(store.lookUp("k").entry == nil)
  }

  @Test func `the last of two writers of one key stays`() throws {
    let store = try sandbox.open()
    let other = try sandbox.open()
    let one = try store.makeWriter(for: "k")
    let two = try other.makeWriter(for: "k")
    try one.write([1])
    try two.write([2])
    try one.write([1])
    try two.commit()
    #expect(store.lookUp("k").entry?.body == [2])
    try one.commit()
    #expect(other.lookUp("k").entry?.body == [1, 1])
    #expect(sandbox.bodies.count == 1)
    #expect(staged == [])
  }

  /// A task that ends late may hold the writer when a command has closed the store and exits.
  @Test(arguments: [false, true])
  func `a writer that is done keeps no session`(isCommitted: Bool) throws {
    let store = try sandbox.open()
    let writer = try store.makeWriter(for: "k")
    try writer.write([1, 2])
    if isCommitted { try writer.commit() } else { writer.discard() }
    store.close()
    #expect(sandbox.sessions == [])
    withExtendedLifetime(writer) {}
  }

  @Test func `a writer keeps its store alive`() throws {
    let writer = try sandbox.open().makeWriter(for: "k")
    try writer.write([1])
    try writer.commit()
    #expect(try sandbox.open().lookUp("k").entry?.body == [1])
  }

  @Test func `a full disk is answered by eviction and one more try`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put([1, 2], for: ByteString("k\(number)")) }
    let writer = try store.makeWriter(for: "new")
    try writer.write([1])
    let fault = CountedFault(after: 0, SystemError(ENOSPC)) { $0.kind == .write }
    files.faults.set { fault.check($0) }
    try writer.write([2])
    try writer.commit()
    #expect(fault.hasStruck)
    #expect(store.lookUp("new").entry?.body == [1, 2])
    #expect(store.statistics.evictions >= 1)
  }

  @Test func `a disk that stays full is an error and the writer is gone`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([7], for: "k")
    try store.pin("k")
    let writer = try store.makeWriter(for: "k")
    files.faults.set { $0.kind == .write ? SystemError(ENOSPC) : nil }
    let error = #expect(throws: StoreError.self) { try writer.write([2]) }
    files.faults.set(nil)
    #expect(error?.code == .noSpace)
    #expect(error?.errno == ENOSPC)
    #expect(staged == [])
    #expect(store.lookUp("k").entry?.body == [7])
  }

  @Test(arguments: [((1 << 20) + 1, nil), (5 << 20, nil), (0, -1), (0, 1_000), (0, 70_000)])
  func `metadata out of bounds is refused at commit, and the writer goes on`(
    count: Int, status: Int?
  ) throws {
    let store = try sandbox.open()
    try store.put([9], for: "k")
    let writer = try store.makeWriter(for: "k")
    try writer.write([1])
    let item = Field("a", ByteString(bytes: Array(repeating: 1, count: count)))
    #expect(throws: failure(.metadataTooLarge, sandbox.root)) {
      try writer.commit(metadata: EntryMetadata(status: status, userInfo: [item]))
    }
    #expect(store.lookUp("k").entry?.body == [9])
    try writer.write([2])
    try writer.commit(metadata: EntryMetadata(status: 201))
    #expect(store.lookUp("k").entry?.body == [1, 2])
    #expect(staged == [])
  }
}
