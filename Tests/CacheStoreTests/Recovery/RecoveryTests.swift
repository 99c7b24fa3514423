import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct RecoveryTests {
  let sandbox = StoreSandbox()

  private func makeStore(_ count: Int = 300) throws {
    let store = try sandbox.open()
    for number in 0..<count {
      try store.put(
        TestBody.make(number / 3 + 1, seed: UInt64(number / 3)), for: ByteString("k\(number)"),
        variant: UInt64(number % 2),
        metadata: EntryMetadata(status: number % 1000, tags: [ByteString("t\(number % 3)")]))
    }
    try store.pin("k0")
    store.close()
  }

  private func check(_ store: Store, _ count: Int = 300) {
    for number in 0..<count {
      let entry = store.lookUp(ByteString("k\(number)"), variant: UInt64(number % 2)).entry
      #expect(entry?.body == TestBody.make(number / 3 + 1, seed: UInt64(number / 3)))
      #expect(entry?.info.tags == [ByteString("t\(number % 3)")])
    }
  }

  /// Makes the store look as if a process had been killed in it.
  private func plantDeadSession() throws {
    try FileManager.default.createDirectory(
      atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
  }

  @Test func `a metadata file that is longer than a record can be is damage`() throws {
    try makeStore(30)
    let file = try #require(
      sandbox.metadataFiles.first { name in
        let document = try? MetadataDocument(decoding: sandbox.bytes(name))
        return document?.entry.key == "k7"
      })
    let seed = try StoreDescription(decoding: sandbox.bytes("store.json")).hashSeed
    let long = "[[\"n\", \"\(String(repeating: "A", count: 5 << 20))\"]]"
    let text = String(decoding: sandbox.bytes(file), as: UTF8.self)
      .replacing("\"userInfo\": []", with: "\"userInfo\": \(long)")
    let covered = Array(text.utf8.dropLast(36))
    let sum = Hexadecimal.string(Checksum.of(covered, seed: seed))
    sandbox.overwrite(file, covered + Array(",\n \"checksum\": \"\(sum)\"\n}\n".utf8))
    sandbox.remove("journal")
    for _ in 0..<2 {
      let store = try sandbox.open()
      store.waitUntilIdle()
      #expect(store.lookUp("k7", variant: 1).entry == nil)
      #expect(store.lookUp("k8").entry?.body == TestBody.make(3, seed: 2))
      #expect(store.statistics.entries == 29)
      store.close()
    }
  }

  @Test func `a store without its journal is whole again`() throws {
    try makeStore()
    sandbox.remove("journal")
    let store = try sandbox.open()
    check(store)
    store.waitUntilIdle()
    #expect(store.statistics.entries == 300)
    #expect(store.statistics.isComplete)
    #expect(store.info(for: "k0")?.isPinned == true)
    store.close()
    let again = try sandbox.open()
    #expect(again.statistics.entries == 300)
    #expect(again.statistics.isComplete)
    check(again)
    // Equal bodies are known to be one file again.
    #expect(again.statistics.sharedBytes > 0)
  }

  /// Damages that take the journal's word away.
  enum JournalDamage: CaseIterable { case lost, torn }

  @Test(
    "a kill while entries are taken up, and a disk that is full then, lose no entry",
    arguments: JournalDamage.allCases, [SystemError.inputOutput, SystemError(ENOSPC)])
  func interrupted(damage: JournalDamage, error: SystemError) throws {
    for calls in [0, 1, 2, 3, 5, 8, 20, 60] {
      let sandbox = StoreSandbox()
      let store = try sandbox.open()
      for number in 0..<30 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
      store.close()
      switch damage {
      case .lost: sandbox.remove("journal")
      case .torn:
        let path = sandbox.segments[0]
        let bytes = sandbox.bytes(path)
        sandbox.overwrite(path, Array(bytes[..<(bytes.count / 2)]) + [1, 2, 3])
        // A lost tail is seen by the gap that the next record leaves.
        sandbox.flip(path, at: bytes.count / 4)
      }
      let files = FaultyFiles()
      let fault = CountedFault(after: calls, lasts: true, error) {
        $0.kind == .write || $0.kind == .removeDirectory
      }
      let faulty = try? sandbox.open(Options(fileSystem: files))
      files.faults.set { fault.check($0) }
      faulty?.waitUntilIdle()
      faulty?.close()
      let again = try sandbox.open()
      again.waitUntilIdle()
      for number in 0..<30 {
        #expect(again.lookUp(ByteString("k\(number)")).entry?.body == [UInt8(number)])
      }
      again.close()
    }
  }

  @Test func `a removal does not take what cannot be asked for as absent`() throws {
    try makeStore(20)
    sandbox.remove("journal")
    let files = FaultyFiles()
    // The directories of keys, from a shard or from `entries`.
    files.faults.set { $0.kind == .open && [30, 33].contains($0.name.count) ? .inputOutput : nil }
    let store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    #expect(throws: StoreError.self) { try store.remove("k3") }
    #expect(throws: StoreError.self) { try store.remove("k3", variant: 1) }
    #expect(throws: StoreError.self) { try store.remove(prefix: "k") }
    #expect(throws: StoreError.self) { try store.pin("k3", variant: 1) }
    files.faults.set(nil)
    check(store, 20)
    #expect(try store.remove("k3") == 1)
    #expect(store.lookUp("k3", variant: 1).entry == nil)
  }

  @Test(arguments: [ENOMEM, ESTALE, ETIMEDOUT])
  func `a file that cannot be opened for a moment loses no entry`(code: Int32) throws {
    try makeStore(20)
    sandbox.remove("journal")
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name.hasSuffix("0.json") ? SystemError(code) : nil
    }
    var store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    files.faults.set(nil)
    store.close()
    store = try sandbox.open()
    store.waitUntilIdle()
    check(store, 20)
    store.close()
  }

  @Test func `a pin that only the tree knows survives when the entry is stored again`() throws {
    try makeStore(20)
    sandbox.remove("journal")
    let files = FaultyFiles()
    // The upkeep cannot go into the keys of a shard, so that the index stays incomplete.
    files.faults.set { $0.kind == .open && $0.name.count == 30 ? .inputOutput : nil }
    let store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    #expect(!store.statistics.isComplete)
    files.faults.set(nil)
    try store.put([1], for: "k0")
    #expect(store.info(for: "k0")?.isPinned == true)
  }

  @Test func `a read-only store without its journal answers from the tree`() throws {
    try makeStore(20)
    for segment in sandbox.segments { sandbox.remove(segment) }
    let before = sandbox.tree()
    let store = try sandbox.open(Options(isReadOnly: true))
    check(store, 20)
    #expect(!store.statistics.isComplete)
    #expect(sandbox.tree() == before)
  }

  @Test func `a store whose directory journal is gone can be read`() throws {
    let store = try sandbox.open()
    try store.put([1, 2, 3], for: "a")
    store.close()
    for name in sandbox.segments { sandbox.remove(name) }
    for name in ["journal", "staging", "quarantine"] { sandbox.remove(name) }
    let again = try sandbox.open(Options(isReadOnly: true))
    #expect(again.lookUp("a").entry?.body == [1, 2, 3] && again.statistics.entries == 1)
    again.close()
    #expect(!sandbox.tree().keys.contains("journal"), "nothing was written")
  }

  @Test func `what was never promised is gone after an unclean end`() throws {
    try makeStore(20)
    let files = FileManager.default
    let directory = sandbox.inside("entries/00/0000000000000000000000000000ab")
    try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
    #expect(
      files.createFile(
        atPath: directory + "/0000000000000000000000000000000a.body", contents: Data([1])))
    // A body and a metadata file beside those of an entry.
    let name = try #require(sandbox.bodies.first).dropLast(37)
    #expect(
      files.createFile(
        atPath: sandbox.inside(name + "0000000000000000000000000000000b.body"), contents: Data([1]))
    )
    #expect(
      files.createFile(
        atPath: sandbox.inside(name + "00000000000000ff.json"), contents: Data([1])))
    try plantDeadSession()
    let store = try sandbox.open()
    store.waitUntilIdle()
    #expect(sandbox.sessions == [])
    #expect(FileFacts(directory) == nil)
    #expect(sandbox.bodies.count == 20)
    #expect(sandbox.metadataFiles.count == 20)
    check(store, 20)
  }

  @Test func `metadata files that are lost are written again from the journal`() throws {
    try makeStore(20)
    let names = sandbox.metadataFiles
    let texts = names.map { sandbox.bytes($0) }
    sandbox.remove(names[3])
    sandbox.flip(names[4], at: 50)
    try plantDeadSession()
    let store = try sandbox.open()
    store.waitUntilIdle()
    #expect(sandbox.metadataFiles == names)
    #expect(names.map { sandbox.bytes($0) } == texts)
    check(store, 20)
  }

  @Test func `entries whose bodies are lost go after an unclean end`() throws {
    try makeStore(20)
    let body = try #require(sandbox.bodies.first)
    sandbox.remove(body)
    try plantDeadSession()
    let store = try sandbox.open()
    store.waitUntilIdle()
    #expect(store.statistics.entries == 19)
    #expect(sandbox.quarantined.count == 1)
    #expect(sandbox.bodies.count == 19)
  }

  @Test func `what is foreign in the tree is left alone`() throws {
    try makeStore(5)
    let names = ["entries/notes", "entries/zz", "journal/readme", "quarantine/mine"]
    for name in names {
      #expect(FileManager.default.createFile(atPath: sandbox.inside(name), contents: Data([1])))
    }
    try plantDeadSession()
    let store = try sandbox.open()
    store.waitUntilIdle()
    for name in names { #expect(sandbox.bytes(name) == [1], "\(name)") }
    check(store, 5)
  }

  @Test func `the session of a process that lives is no sign of an unclean end`() throws {
    let living = try sandbox.open()
    let writer = try living.makeWriter(for: "k")
    try writer.write([1, 2])
    let other = try sandbox.open()
    other.waitUntilIdle()
    try writer.commit()
    #expect(other.lookUp("k").entry?.body == [1, 2])
  }

  @Test func `without its journal every entry is seen at once`() throws {
    try makeStore()
    sandbox.remove("journal")
    let store = try sandbox.open()
    #expect(store.entries().reduce(0) { sum, _ in sum + 1 } == 300)
    check(store)
  }

  @Test func `a store without its journal that is only read shows every entry`() throws {
    try makeStore()
    for name in sandbox.segments { sandbox.remove(name) }
    let store = try sandbox.open(Options(isReadOnly: true))
    #expect(store.entries().reduce(0) { sum, _ in sum + 1 } == 300)
    check(store)
  }

  @Test func `what is removed by prefix while the journal is lost does not come back`() throws {
    try makeStore()
    sandbox.remove("journal")
    let store = try sandbox.open()
    #expect(try store.remove(prefix: "k1") == 111)
    store.waitUntilIdle()
    #expect(store.statistics.entries == 189)
    #expect(store.lookUp("k17", variant: 1).entry == nil)
  }

  @Test func `variants are seen while the journal is lost`() throws {
    let store = try sandbox.open()
    for variant in 0..<5 { try store.put([1], for: "k", variant: UInt64(variant)) }
    store.close()
    sandbox.remove("journal")
    let again = try sandbox.open()
    #expect(again.variants(of: "k").count == 5)
  }

  @Test(arguments: [FileCall.Kind.read, .length, .statusOf, .open])
  func `a journal that cannot be read at opening costs no entry`(kind: FileCall.Kind) throws {
    try makeStore(20)
    for place in 0..<10 {
      try plantDeadSession()
      let files = FaultyFiles()
      let fault = CountedFault(after: place, .inputOutput) { $0.kind == kind }
      files.faults.set { fault.check($0) }
      let opened = try? sandbox.open(Options(fileSystem: files))
      opened?.waitUntilIdle()
      files.faults.set(nil)
      opened?.close()
      let store = try sandbox.open()
      store.waitUntilIdle()
      check(store, 20)
      store.close()
    }
  }

  @Test func `a journal that stays unreadable costs no entry`() throws {
    try makeStore(20)
    try plantDeadSession()
    let files = FaultyFiles()
    let fault = CountedFault(after: 0, lasts: true, .inputOutput) { $0.kind == .length }
    files.faults.set { fault.check($0) }
    let opened = try? sandbox.open(Options(fileSystem: files))
    opened?.waitUntilIdle()
    files.faults.set(nil)
    opened?.close()
    #expect(sandbox.bodies.count == 20)
    let store = try sandbox.open()
    store.waitUntilIdle()
    check(store, 20)
  }

  @Test func `limits hold when entries were taken up that the journal had lost`() throws {
    let limits = Limits(bytes: 20_000, accounting: .logical)
    let store = try sandbox.open()
    try store.setLimits(limits)
    for number in 0..<20 {
      try store.put(TestBody.make(1_000, seed: UInt64(number)), for: ByteString("k\(number)"))
    }
    store.close()
    let segment = sandbox.segments[0]
    let bytes = sandbox.bytes(segment)
    for offset in stride(from: bytes.count / 2, to: bytes.count, by: 40) {
      sandbox.flip(segment, at: offset)
    }
    // Without its upkeep, so that the rest is taken up after others are stored.
    var options = Options()
    options.isSupervised = true
    let between = try sandbox.open(options)
    #expect(between.statistics.entries < 15)
    for number in 20..<30 {
      try between.put(TestBody.make(1_000, seed: UInt64(number)), for: ByteString("k\(number)"))
    }
    between.close()
    let again = try sandbox.open()
    again.waitUntilIdle()
    #expect(again.limits == limits)
    #expect(again.statistics.logicalBytes <= 20_000)
    #expect(again.statistics.logicalBytes > 15_000)
    #expect(again.statistics.evictions > 0)
  }
}
