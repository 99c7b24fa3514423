internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The store that is checked: the engine, or the tree alone if the engine cannot be opened.
final class CheckedStore: Sendable {
  /// The engine; `nil` if the store cannot be opened. Then there is no index, and no entry counts
  /// as unrecorded.
  let engine: Store?
  var catalog: Catalog? { engine?.catalog }
  let fileSystem: any FileSystem
  let hashSeed: UInt64
  /// The user that everything in the store should belong to: the owner of its directory.
  let owner: UInt32
  /// Whether the journal could not be read to its end when a check without repair began. Otherwise
  /// it has to be readable all the time.
  private let isUnread: Bool
  /// The directory `entries`, if there is no engine.
  private let tree: EntriesDirectory?

  init(_ engine: Store, owner: UInt32) {
    self.engine = engine
    isUnread = engine.isReadOnly && (try? engine.catalog.checkReadable()) == nil
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
    isUnread = false
    self.fileSystem = fileSystem
    hashSeed = description.hashSeed
    self.owner = owner
    self.tree = EntriesDirectory(tree)
  }

  var entries: EntriesDirectory {
    if let catalog { return catalog.entriesDirectory }
    guard let tree else { preconditionFailure("there is an engine or a tree") }
    return tree
  }

  /// Returns the present entries of some keys, in the same order.
  ///
  /// - Throws: an error if the journal cannot be read any more. Then no entry is known.
  func indexed(_ hashes: [KeyHash]) throws(SystemError) -> [IndexedKey] {
    guard let catalog else { return Array(repeating: IndexedKey(), count: hashes.count) }
    do throws(StoreError) {
      return try catalog.indexed(hashes, mayBeUnread: isUnread)
    } catch { throw SystemError(error) }
  }

  /// Returns whether all entries were removed since `entries` was the present directory. Then the
  /// caller begins again.
  func isOutdated(_ entries: EntriesDirectory) -> Bool { catalog?.isOutdated(entries) ?? false }

  /// Returns whether the size of a metadata file in a record is not the one that the engine
  /// computes.
  func isWrong(overhead: UInt64, documentBytes: Int) -> Bool {
    guard let catalog else { return false }
    // A slot has the size in units of 512 bytes, up to 8 GiB.
    return overhead != (UInt64(catalog.tree.overhead(documentBytes)) + 511) / 512 * 512
  }
}
