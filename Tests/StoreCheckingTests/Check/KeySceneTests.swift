import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct KeySceneTests {
  private static let status = FileStatus(
    length: 3, allocated: 512, fileNumber: 1, linkCount: 1, modified: 0, owner: 7, mode: 0o600,
    kind: .file)

  /// Makes the scene of a key with two variants, the second with its body in the metadata file.
  private func scene() -> KeyScene {
    var (body, embedded) = (Slot(), Slot())
    (body.digest, embedded.digest) = (Digest(hashing: [1]), Digest(hashing: [2]))
    (embedded.variant, embedded.isEmbedded) = (9, true)
    var indexed = IndexedKey()
    indexed.slots = [body, embedded]
    return KeyScene(hash: KeyHash(hashing: "k", seed: 1), indexed)
  }

  @Test func `an entry lacks its files if none of them is there`() {
    var scene = scene()
    #expect(scene.slots.allSatisfy { scene.lacks($0) })
    scene.bodies[Digest(hashing: [2])] = BodyScene(status: Self.status, reading: .notRead)
    #expect(scene.slots.allSatisfy { scene.lacks($0) }, "an embedded body has no file")
    scene.bodies[Digest(hashing: [1])] = BodyScene(status: Self.status, reading: .notRead)
    #expect(scene.slots.map { scene.lacks($0) } == [false, true])
    scene.metadata[9] = MetadataScene(status: Self.status, reading: .wrongKind)
    #expect(scene.slots.map { scene.lacks($0) } == [false, false])
  }

  @Test func `variants and paths are found`() {
    let scene = scene()
    #expect(scene.slot(0)?.isEmbedded == false && scene.slot(9)?.isEmbedded == true)
    #expect(scene.slot(1) == nil && scene.slot(.max) == nil)
    let path = String(decoding: scene.path, as: UTF8.self)
    #expect(path == "entries/\(Layout.keyPath(scene.hash).text)")
    #expect(scene.path(PathName("x")) == Array("\(path)/x".utf8))
  }

  @Test func `the time of an entry is counted in whole seconds, and none ends the program`() {
    var facts = DocumentFacts(
      key: "k", keyHash: KeyHash(hashing: "k", seed: 1), variant: 0, digest: Digest(hashing: [1]),
      length: 3, isPinned: false, created: Timestamp(nanoseconds: 0), sequence: nil, hasBody: false,
      isOverheadWrong: false, bytes: 100)
    for (nanoseconds, seconds) in [
      (0, 0), (-1, 0), (.min, 0), (999_999_999, 0), (1_000_000_000, 1), (.max, .max),
    ] as [(Int64, UInt32)] {
      facts.created = Timestamp(nanoseconds: nanoseconds)
      #expect(facts.createdSeconds == seconds, "\(nanoseconds)")
    }
  }
}
