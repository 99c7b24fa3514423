internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The store that is checked: through the engine, or, where that cannot be opened, what can be told
/// without it.
final class CheckedStore: Sendable {
  /// `nil` if the store cannot be opened: then there is no index, and nothing is unrecorded.
  let engine: Store?
  /// What the store holds, according to its journal.
  var catalog: Catalog? { engine?.catalog }
  let fileSystem: any FileSystem
  let hashSeed: UInt64
  /// The user that everything in the store should belong to: the owner of its directory.
  let owner: UInt32
  /// Where there is no engine: the directory of entries.
  private let tree: EntriesDirectory?

  init(_ engine: Store, owner: UInt32) {
    self.engine = engine
    fileSystem = engine.fileSystem
    hashSeed = engine.hashSeed
    self.owner = owner
    tree = nil
  }

  init(
    tree: consuming Descriptor, _ description: StoreDescription, owner: UInt32,
    _ fileSystem: any FileSystem
  ) {
    engine = nil
    self.fileSystem = fileSystem
    hashSeed = description.hashSeed
    self.owner = owner
    self.tree = EntriesDirectory(generation: 0, directory: tree)
  }

  /// The present directory of entries.
  var entries: EntriesDirectory {
    if let catalog { return catalog.entriesDirectory }
    guard let tree else { preconditionFailure("there is an engine or a tree") }
    return tree
  }

  /// What the index says of a key now.
  func slots(of hash: KeyHash) -> [Slot] { catalog?.slots(of: hash) ?? [] }

  /// What the index says of some keys now.
  func indexed(_ hashes: [KeyHash]) -> [IndexedKey] {
    catalog?.indexed(hashes) ?? Array(repeating: IndexedKey(), count: hashes.count)
  }

  /// What the index says of a key now.
  func indexed(_ hash: KeyHash) -> IndexedKey { indexed([hash])[0] }

  /// Makes sure that what was begun in a directory that was removed as a whole is begun again.
  func isOutdated(_ entries: EntriesDirectory) -> Bool { catalog?.isOutdated(entries) ?? false }

  /// Whether a record counts other bytes for a metadata file than the engine would.
  func isWrong(overhead: UInt64, documentBytes: Int) -> Bool {
    guard let catalog else { return false }
    // A slot keeps it in units of 512 bytes, up to 8 GiB.
    return overhead != (UInt64(catalog.tree.overhead(documentBytes)) + 511) / 512 * 512
  }
}
