import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct MenderMetadataTests {
  /// Opens a store, and gives a mender and the scene of an entry that is not in the index.
  private func withMender(
    _ body: (Mender, KeyScene, borrowing Descriptor, Digest) throws -> Void
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1, 2, 3], for: "a") }
    var options = Options(createsStore: false)
    options.isSupervised = true
    let store = try Store(at: sandbox.root, options: options)
    defer { store.close() }
    let hash = KeyHash(hashing: "a", seed: store.hashSeed)
    let directory = try RealFileSystem().open(
      userPath: sandbox.inside(try sandbox.key()), [.read, .directory])
    try body(
      try Mender(store, .all, sparesMissing: false), KeyScene(hash: hash, IndexedKey()), directory,
      Digest(hashing: [1, 2, 3]))
  }

  @Test func `a body is used by an entry of the index`() throws {
    try withMender { mender, scene, directory, digest in
      let (used, other) = (
        try mender.isUsed(digest, scene, directory, except: 0),
        try mender.isUsed(Digest(hashing: [4]), scene, directory, except: nil)
      )
      #expect(used && !other)
    }
  }

  @Test func `beside more names than are read, every body may be used`() throws {
    try withMender { mender, scene, directory, _ in
      var scene = scene
      scene.uncountedNames = 1
      let isUsed = try mender.isUsed(Digest(hashing: [4]), scene, directory, except: nil)
      #expect(isUsed && mender.hasUnknown(scene))
    }
  }
}
