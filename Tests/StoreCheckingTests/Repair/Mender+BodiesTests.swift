import CacheFormat
import CacheStore
import SimulatedFiles
import StoreChecking
import Testing

/// The damage of the files of an entry whose record in the journal still carries the body.
struct FileDamage: Sendable, CustomStringConvertible {
  let description: String
  /// The length of the body.
  let count: Int
  let damage: @Sendable (CheckSandbox) throws -> Void

  static let all = [
    FileDamage(description: "a changed body", count: 2_000) { try $0.flip(try $0.body(), at: 7) },
    FileDamage(description: "a body that was cut off", count: 2_000) {
      try $0.write(try $0.body(), [1])
    },
    FileDamage(description: "a body that is too long", count: 2_000) {
      try $0.write(try $0.body(), MenderBodiesTests.content(2_001))
    },
    FileDamage(description: "a missing body", count: 2_000) { try $0.remove(try $0.body()) },
    FileDamage(description: "a missing directory", count: 2_000, damage: removeKey),
    FileDamage(
      description: "a missing directory with an embedded body", count: 180, damage: removeKey),
    FileDamage(description: "a changed metadata file with the body", count: 180) {
      try $0.flip(try $0.metadata(), at: 120)
    },
    FileDamage(description: "a missing metadata file with the body", count: 180) {
      try $0.remove(try $0.metadata())
    },
    FileDamage(description: "a metadata file that has lost the body", count: 180) {
      var document = try MetadataDocument(decoding: try $0.bytes(try $0.metadata()))
      document.body = nil
      try $0.write(try $0.metadata(), try document.encoded())
    },
    FileDamage(description: "a body file beside an embedded body", count: 180) {
      let content = MenderBodiesTests.content(180)
      let key = try #require(try $0.keys().first)
      try $0.write("\(key)/\(Digest(hashing: content)).body", content)
    },
  ]

  private static func removeKey(_ sandbox: CheckSandbox) throws {
    try sandbox.removeTree(try #require(try sandbox.keys().first))
  }
}

@Suite struct MenderBodiesTests {
  @Test func `swapped metadata files with bodies get their places by a safe repair`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 60)) { store in
      try store.put([1], for: "a")
      try store.put([2], for: "b")
    }
    let files = try sandbox.files(".json")
    let bytes = try files.map { try sandbox.bytes($0) }
    try sandbox.write(files[0], bytes[1])
    try sandbox.write(files[1], bytes[0])
    try sandbox.removeTree("journal")
    _ = try sandbox.expectRepaired(.safe)
    #expect(try sandbox.names("quarantine").isEmpty)
    #expect(try files.map { try sandbox.bytes($0) } == bytes)
  }

  static func content(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0) }
  }

  @Test(arguments: FileDamage.all.prefix(4))
  func `a body that the journal still has is restored by a safe repair`(
    _ damage: FileDamage
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 60)) { store in
      try store.put(Self.content(damage.count), for: "page")
      try store.settle()
    }
    try damage.damage(sandbox)
    let repaired = try sandbox.repair(.safe, .deep)
    #expect(!repaired.findings.isEmpty && repaired.unrepaired == [])
    #expect(try sandbox.names("quarantine").isEmpty)
    #expect(try sandbox.check(.deep).findings.isEmpty)
  }

  @Test(
    "the files of a settled entry are written again from the journal", arguments: FileDamage.all)
  func repair(_ damage: FileDamage) throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .within(seconds: 60)))
    let content = Self.content(damage.count)
    try store.put(content, for: "page", metadata: EntryMetadata(status: 200))
    try store.settle()
    store.close()
    try damage.damage(sandbox)

    #expect(try !sandbox.check(.deep).findings.isEmpty)
    #expect(try sandbox.repair(.all, .deep).unrepaired == [])
    #expect(try sandbox.check(.deep).findings.isEmpty)
    // Now the files are sufficient.
    try sandbox.removeTree("journal")
    let again = try Store(at: sandbox.root)
    again.waitUntilIdle()
    let entry = again.lookUp("page").entry
    #expect(entry?.body == content && entry?.info.status == 200)
    again.close()
  }

  @Test func `a body that cannot be read any more is not repaired`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put(Self.content(5_000), for: "page") }
    try sandbox.flip(try sandbox.body(), at: 7)
    for place in 0..<8 {
      let (files, opened) = (FaultyFiles(), CallCounter())
      files.faults.set { call in
        guard call.kind == .open, call.name.hasSuffix(".body") else { return nil }
        return opened.next() >= place ? .inputOutput : nil
      }
      let repaired = try sandbox.repair(.all, .deep, fileSystem: files)
      #expect(repaired.report.left > 0, "\(place)")
      #expect(!repaired.unrepaired.isEmpty, "\(place)")
      for finding in repaired.findings where finding.kind == .bodyWrong {
        #expect(finding.outcome != .repaired, "\(place)")
      }
      if !(try sandbox.names("quarantine").isEmpty) { return }
    }
  }
}
