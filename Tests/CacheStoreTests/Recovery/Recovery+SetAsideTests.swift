import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

/// Damage of each kind of file: a miss with its reason, never a wrong byte, and a later put works.
@Suite struct RecoverySetAsideTests {
  let sandbox = StoreSandbox()
  let body = TestBody.make(5_000, seed: 1)

  enum Damage: String, CaseIterable, Sendable { case flipped, short, long, missing, zeroLength }

  private func damage(_ damage: Damage, _ name: String) {
    let bytes = sandbox.bytes(name)
    switch damage {
    case .flipped: sandbox.flip(name, at: bytes.count / 2)
    case .short: sandbox.overwrite(name, Array(bytes.dropLast()))
    case .long: sandbox.overwrite(name, bytes + [0])
    case .missing: sandbox.remove(name)
    case .zeroLength: sandbox.overwrite(name, [])
    }
  }

  private func isDamagedMiss(_ lookup: Lookup) -> Bool {
    if case .miss(.damaged) = lookup { true } else { false }
  }

  @Test func `nothing is set aside while a newer version cannot be read`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(body, for: "k")
    sandbox.flip(try #require(sandbox.bodies.first), at: 7)
    files.faults.set { $0.kind == .open && $0.name.hasSuffix(".json") ? .inputOutput : nil }
    #expect(isDamagedMiss(store.lookUp("k")))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 1 && sandbox.quarantined.isEmpty)
    files.faults.set(nil)
    #expect(isDamagedMiss(store.lookUp("k")))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 0 && sandbox.quarantined.count == 1)
    store.close()
  }

  @Test func `the files of another entry in the place of a damaged one stay`() throws {
    let store = try sandbox.open()
    try store.put(body, for: "a")
    let (metadata, name) = (
      try #require(sandbox.metadataFiles.first), try #require(sandbox.bodies.first)
    )
    try store.put([1], for: "b")
    let place = try #require(sandbox.metadataFiles.first { $0 != metadata })
    let other = try #require(sandbox.bodies.first { $0 != name })
    sandbox.overwrite(place, sandbox.bytes(metadata))
    sandbox.remove(other)
    #expect(isDamagedMiss(store.lookUp("b")))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 1)
    #expect(sandbox.bytes(place) == sandbox.bytes(metadata) && sandbox.quarantined.isEmpty)
    store.close()
  }

  @Test func `a body that cannot be restored costs no metadata file`() throws {
    var store = try sandbox.open(settling: .within(seconds: 3_600))
    try store.put(body, for: "k")
    try store.settle()
    store.close()
    sandbox.flip(try #require(sandbox.bodies.first), at: 7)
    try FileManager.default.createDirectory(
      atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.options.contains(.exclusive) && call.name.hasSuffix(".json")
        ? SystemError(EMFILE) : nil
    }
    store = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    store.waitUntilIdle()
    #expect(!files.faults.calls.isEmpty && sandbox.metadataFiles.count == 1)
    files.faults.set(nil)
    store.close()
    #expect(try sandbox.open().contains("k"))
  }

  @Test(arguments: Damage.allCases, [5_000, 100_000, 1])
  func `a damaged body is set aside in a running store`(damage: Damage, count: Int) throws {
    let body = TestBody.make(count, seed: 1)
    let store = try sandbox.open()
    try store.put(body, for: "k", metadata: EntryMetadata(status: 200))
    try store.put([1], for: "other")
    let name = try #require(sandbox.bodies.first { sandbox.bytes($0) == body })
    self.damage(damage, name)
    let left = sandbox.bytes(name)
    #expect(isDamagedMiss(store.lookUp("k")))
    store.waitUntilIdle()
    #expect(store.statistics.damagedMisses == 1)
    #expect(store.statistics.entries == 1)
    // What is left stands in the quarantine, with a note that says from where.
    let aside = "quarantine/\(try #require(sandbox.quarantined.first))"
    #expect(sandbox.quarantined.count == 1)
    let note = String(decoding: sandbox.bytes("\(aside)/note.txt"), as: UTF8.self)
    let parts = name.split(separator: "/")
    #expect(note.contains("entries/\(parts[1])/\(parts[2])"))
    #expect(note.contains("\(Digest(hashing: body))"))
    if damage != .missing { #expect(sandbox.bytes("\(aside)/\(parts[3])") == left) }
    #expect(FileFacts(sandbox.inside("\(aside)/0000000000000000.json")) != nil)
    guard case .miss(.absent) = store.lookUp("k") else {
      Issue.record("it is still there")
      return
    }
    #expect(store.lookUp("other").entry?.body == [1])
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
    store.close()
    #expect(try sandbox.open().lookUp("k").entry?.body == body)
  }

  @Test(arguments: Damage.allCases)
  func `a damaged body is a miss after opening again`(damage: Damage) throws {
    let first = try sandbox.open()
    try first.put(body, for: "k")
    first.close()
    self.damage(damage, try #require(sandbox.bodies.first))
    let store = try sandbox.open()
    #expect(isDamagedMiss(store.lookUp("k")))
    store.waitUntilIdle()
    #expect(sandbox.quarantined.count == 1)
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
  }

  @Test(arguments: [false, true])
  func `an entry whose files are away is a miss and found again`(reopens: Bool) throws {
    var store = try sandbox.open()
    try store.put(body, for: "k")
    let name = try #require(sandbox.bodies.first)
    let key = sandbox.inside(String(name[..<(try #require(name.lastIndex(of: "/")))]))
    let away = sandbox.inside("../\(URL(filePath: key).lastPathComponent)")
    try FileManager.default.moveItem(atPath: key, toPath: away)
    if reopens {
      store.close()
      store = try sandbox.open()
    }
    for _ in 0..<3 {
      #expect(isDamagedMiss(store.lookUp("k")))
      store.waitUntilIdle()
    }
    #expect(store.statistics.entries == 1)
    try FileManager.default.moveItem(atPath: away, toPath: key)
    #expect(store.lookUp("k").entry?.body == body)
    // Or it is stored again.
    try FileManager.default.removeItem(atPath: key)
    #expect(isDamagedMiss(store.lookUp("k")))
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
    #expect(sandbox.quarantined == [])
  }

  @Test func `all entries that share a damaged body miss and one put heals its own`() throws {
    let store = try sandbox.open()
    for key: ByteString in ["a", "b", "c"] { try store.put(body, for: key) }
    sandbox.flip(try #require(sandbox.bodies.first), at: 9)
    try store.put(body, for: "d")
    #expect(store.lookUp("d").entry?.body == body)
    for key: ByteString in ["a", "b", "c"] { #expect(store.lookUp(key).entry == nil) }
    store.waitUntilIdle()
    #expect(store.statistics.entries == 1)
    try store.put(body, for: "a")
    #expect(store.lookUp("a").entry?.body == body)
  }

  @Test(arguments: Damage.allCases)
  func `damaged metadata costs nothing while the journal is whole`(damage: Damage) throws {
    let first = try sandbox.open()
    try first.put(body, for: "k", metadata: EntryMetadata(status: 203))
    let name = try #require(sandbox.metadataFiles.first)
    self.damage(damage, name)
    #expect(first.lookUp("k").entry?.body == body)
    first.close()
    let store = try sandbox.open()
    #expect(store.lookUp("k").entry?.body == body)
    #expect(store.info(for: "k")?.status == 203)
  }

  @Test(arguments: Damage.allCases)
  func `damaged metadata is a miss where the journal is lost`(damage: Damage) throws {
    let first = try sandbox.open()
    try first.put(body, for: "k")
    try first.put([7], for: "other")
    first.close()
    let name = try #require(
      sandbox.metadataFiles.first {
        String(decoding: sandbox.bytes($0), as: UTF8.self).contains("5000")
      })
    self.damage(damage, name)
    for segment in sandbox.segments { sandbox.remove(segment) }
    let store = try sandbox.open()
    #expect(store.lookUp("k").entry == nil)
    #expect(store.lookUp("other").entry?.body == [7])
    store.waitUntilIdle()
    #expect(store.statistics.entries == 1)
    #expect(store.statistics.isComplete)
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
  }

  @Test func `what the system cannot read for now is a miss and stays`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(body, for: "k")
    for code in [EIO, EMFILE, ENFILE, EACCES, ENOMEM, ESTALE, ETIMEDOUT] {
      files.faults.set { $0.kind == .open && $0.name.hasSuffix(".body") ? SystemError(code) : nil }
      #expect(isDamagedMiss(store.lookUp("k")))
      store.waitUntilIdle()
      files.faults.set(nil)
      #expect(store.lookUp("k").entry?.body == body, "error \(code)")
    }
    #expect(sandbox.quarantined == [])
  }

  @Test func `files that cannot be set aside are removed by the next comparison`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(body, for: "k")
    sandbox.flip(try #require(sandbox.bodies.first), at: 77)
    files.faults.set { call in
      call.kind == .makeDirectory && call.name.count == 41 ? SystemError(ENOSPC) : nil
    }
    #expect(isDamagedMiss(store.lookUp("k")))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 0)
    #expect(sandbox.bodies == [] && sandbox.metadataFiles == [])
    store.close()
  }

  @Test func `an entry that was stored again after its damage was seen is not set aside`() throws {
    let store = try sandbox.open()
    for round in 0..<20 {
      try store.put(body, for: "k")
      sandbox.flip(try #require(sandbox.bodies.first), at: 77)
      #expect(store.lookUp("k").entry == nil)
      // At once, while the upkeep is about to set it aside.
      try store.put(body, for: "k")
      store.waitUntilIdle()
      #expect(store.lookUp("k").entry?.body == body, "round \(round)")
    }
  }
}
