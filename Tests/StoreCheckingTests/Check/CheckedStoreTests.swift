import CLibrary
import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct CheckedStoreTests {
  /// Opens the store of a sandbox with its engine, and its tree alone.
  private func open(_ sandbox: CheckSandbox) throws -> (engine: CheckedStore, tree: CheckedStore) {
    var options = Options(createsStore: false)
    options.isSupervised = true
    let engine = try Store(at: sandbox.root, options: options)
    let description = try StoreDescription(decoding: try sandbox.bytes("store.json"))
    let entries = try RealFileSystem().open(
      userPath: sandbox.inside("entries"), [.read, .directory])
    return (
      CheckedStore(engine, owner: geteuid()),
      CheckedStore(tree: entries, description, owner: geteuid(), RealFileSystem())
    )
  }

  @Test func `without an engine no key has entries, and all else is the same`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let (engine, tree) = try open(sandbox)
    defer { engine.engine?.close() }
    let keys: [ByteString] = ["a", "b"]
    let hashes = keys.map { KeyHash(hashing: $0, seed: engine.hashSeed) }
    #expect(try engine.indexed(hashes).map(\.slots.count) == [1, 0])
    #expect(try tree.indexed(hashes).map(\.slots.count) == [0, 0])
    #expect(try tree.indexed([]).isEmpty && engine.indexed([]).isEmpty)
    #expect(tree.hashSeed == engine.hashSeed && tree.catalog == nil)
  }

  @Test func `a size is wrong if the record has not that of the file, in units of 512 bytes`()
    throws
  {
    let sandbox = try CheckSandbox.withOneEntry()
    let (engine, tree) = try open(sandbox)
    defer { engine.engine?.close() }
    let catalog = try #require(engine.catalog)
    for bytes in [0, 1, 511, 512, 513, 4_095, 4_096, 4_097, MetadataDocument.maximumBytes] {
      let right = (UInt64(catalog.tree.overhead(bytes)) + 511) / 512 * 512
      #expect(!engine.isWrong(overhead: right, documentBytes: bytes))
      for wrong in [right &- 512, right + 512, right + 1, 0, .max] {
        #expect(engine.isWrong(overhead: wrong, documentBytes: bytes), "\(wrong), \(bytes)")
        #expect(!tree.isWrong(overhead: wrong, documentBytes: bytes))
      }
    }
  }

  @Test func `entries are outdated once all were removed`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let (engine, tree) = try open(sandbox)
    defer { engine.engine?.close() }
    let (before, onDisk) = (engine.entries, tree.entries)
    #expect(!engine.isOutdated(before))
    try #require(engine.engine).removeAll()
    #expect(engine.isOutdated(before) && !engine.isOutdated(engine.entries))
    #expect(!tree.isOutdated(onDisk))
  }
}
