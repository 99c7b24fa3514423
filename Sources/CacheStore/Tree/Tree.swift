package import CacheFormat
package import CacheSystem
internal import Synchronization

/// The directories of a store on disk, and the files of its entries (Docs/Format.md, "The tree").
///
/// `Tree` does not depend on the records of the journal: `Catalog` has the entries, and `Tree`
/// reads and writes their files. `KeyFiles` changes the directory of one key.
package final class Tree: Sendable {
  /// The path of the store.
  let path: String
  package let place: StorePlace
  package let hashSeed: UInt64
  var durability: Durability { place.durability }
  package let fileSystem: any FileSystem
  package let clock: any WallClock
  let journal: Journal
  let staging: Staging
  private let verifiedBodies = VerifiedBodies()
  /// Whether `entries` was moved back after a removal of all that failed, and not synced since.
  let hasMovedBack = Atomic(false)
  /// Whether a body could not be synced, if the file that shows it could not be made.
  private let hasUnsyncedBody = Atomic(false)

  init(_ place: StorePlace, _ journal: Journal, _ options: Options) {
    self.place = place
    self.journal = journal
    path = place.path
    hashSeed = place.description.hashSeed
    fileSystem = options.fileSystem
    clock = options.clock
    staging = Staging(place, options)
  }

  // MARK: Failed syncs

  /// Returns whether a body that was there could not be synced in this run of the machine. The next sync
  /// would succeed without its bytes, so such bodies are written anew.
  func writesBodiesAnew() throws(SystemError) -> Bool {
    if hasUnsyncedBody.load(ordering: .relaxed) { return true }
    do throws(SystemError) {
      let boot = try fileSystem.readFile(Layout.unsynced, in: place.journal, limit: 8)
      return boot == staging.bootBytes || staging.bootBytes.allSatisfy { $0 == 0 }
    } catch {
      if error == .notFound { return false }
      throw error
    }
  }

  /// Notes for all processes that a body could not be synced.
  func noteUnsyncedBody() {
    try? fileSystem.removeFile(Layout.unsynced, in: place.journal.raw)
    do throws(SystemError) {
      try fileSystem.writeNew(Layout.unsynced, in: place.journal, staging.bootBytes)
    } catch { hasUnsyncedBody.store(true, ordering: .relaxed) }
  }

  // MARK: Bodies

  /// The longest body in bytes that is read without a query of the file's length. More memory is
  /// allocated only if the file has the length in the record.
  private static let unaskedBytes: UInt64 = 64 << 10

  /// An open body that is a file of the right length.
  private struct OpenBody: ~Copyable {
    let file: Descriptor
    let status: FileStatus
  }

  /// Opens a body by its path below `entries`.
  ///
  /// - Throws: `.wrongLength` also if it is no file; `.notFound` or `.isWrongKind` if there is none.
  private func openFile(
    _ path: PathName, _ length: UInt64, _ entries: EntriesDirectory
  ) throws(SystemError) -> OpenBody {
    let file = try fileSystem.open(path, in: entries.directory, [.read])
    let status = try fileSystem.status(of: file.raw)
    guard status.kind == .file, status.length == length else { throw .wrongLength }
    return OpenBody(file: file, status: status)
  }

  private func openFile(_ located: Located) throws(SystemError) -> OpenBody {
    let slot = located.slot
    return try openFile(
      Layout.bodyPath(slot.keyHash, slot.digest), slot.length, located.entries)
  }

  /// Reads the body of an entry whose metadata file has it.
  private func embeddedBody(_ located: Located) throws(ReadFailure) -> [UInt8] {
    guard let body = try document(of: located).body else { throw .damaged }
    return body
  }

  /// Reads and verifies a body.
  func readBody(_ located: Located) throws(ReadFailure) -> [UInt8] {
    let slot = located.slot
    if slot.isEmbedded { return try embeddedBody(located) }
    do throws(SystemError) {
      let path = Layout.bodyPath(slot.keyHash, slot.digest)
      if slot.length > Self.unaskedBytes {
        _ = try openFile(path, slot.length, located.entries)
      }
      let bytes = try fileSystem.readFile(
        path, in: located.entries.directory, expecting: Int(slot.length))
      if bytes.count == Int(slot.length), slot.digest.names(bytes, hashSeed: hashSeed) {
        return bytes
      }
    } catch {
      if error == .notFound { throw .gone }
      throw error.isForNow ? .unreadable : .damaged
    }
    throw .damaged
  }

  /// Opens a body for reading piece by piece.
  ///
  /// - Parameter reportDamage: called when a read finds that the body is damaged.
  func openBody(
    _ located: Located, reportDamage: @escaping @Sendable () -> Void
  ) throws(ReadFailure) -> BodyReader {
    let slot = located.slot
    if slot.isEmbedded {
      return BodyReader(try embeddedBody(located), digest: slot.digest, path: path)
    }
    let name = Layout.bodyPath(slot.keyHash, slot.digest)
    do throws(SystemError) {
      let body = try openFile(name, slot.length, located.entries)
      let identity = VerifiedBodies.Identity(body.status)
      return BodyReader(
        file: body.file, fileSystem: fileSystem, length: slot.length, digest: slot.digest,
        hashSeed: hashSeed, path: "\(path)/entries/\(name.text)", identity: identity,
        verified: verifiedBodies, reportDamage: reportDamage)
    } catch {
      if error == .notFound { throw .gone }
      throw error.isForNow ? .unreadable : .damaged
    }
  }

  /// Returns the number of the body file of a metadata file, if that file has the right length: 0 if
  /// the metadata file has the body itself; `nil` if there is no body.
  func bodyFile(
    _ hash: KeyHash, _ document: MetadataDocument, _ entries: EntriesDirectory
  ) throws(StoreError) -> UInt64? {
    if document.body != nil { return 0 }
    let path = Layout.bodyPath(hash, document.entry.digest)
    do throws(SystemError) {
      return try openFile(path, document.entry.length, entries).status.fileNumber
    } catch {
      if !error.isForNow { return nil }
      throw StoreError(error, path: "\(self.path)/entries/\(path.text)")
    }
  }

  /// Returns whether the body of an entry exists with the right length. If the system cannot read
  /// it, it counts as existing.
  func hasBody(_ located: Located) -> Bool {
    if located.slot.isEmbedded { return (try? isWholeBody(located)) ?? true }
    do throws(SystemError) {
      _ = try openFile(located)
      return true
    } catch { return error.isForNow }
  }

  /// Returns whether the body of an entry has the bytes that were stored.
  func isWholeBody(_ located: Located) throws(ReadFailure) -> Bool {
    let slot = located.slot
    if slot.isEmbedded {
      do throws(ReadFailure) {
        _ = try embeddedBody(located)
        return true
      } catch {
        if error == .unreadable { throw error }
        return false
      }
    }
    do throws(SystemError) {
      let body = try openFile(located)
      return try fileSystem.holdsBody(
        body.file, slot.digest, count: slot.length, hashSeed: hashSeed)
    } catch {
      if !error.isForNow { return false }
      throw .unreadable
    }
  }

  // MARK: Directories of keys

  /// Opens the directory of a key in a locked shard; `nil` if there is none.
  package func openKey(
    _ hash: KeyHash, in shard: borrowing Shard
  ) throws(StoreError) -> Descriptor? {
    try openKey(hash, at: Layout.key(hash), in: shard.directory)
  }

  /// Opens the directory of a key by its path in another directory; `nil` if there is none.
  package func openKey(
    _ hash: KeyHash, at path: PathName, in directory: borrowing Descriptor
  ) throws(StoreError) -> Descriptor? {
    do throws(SystemError) {
      return try fileSystem.open(path, in: directory, [.read, .directory])
    } catch {
      if error == .notFound || error.isWrongKind { return nil }
      throw StoreError(error, path: "\(self.path)/entries/\(Layout.keyPath(hash).text)")
    }
  }

  /// Returns the files in the directory of a key, without foreign names.
  func files(in directory: borrowing Descriptor) throws(StoreError) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    let raw = directory.raw
    try system("\(path)/entries") { () throws(SystemError) in
      try fileSystem.list(raw) { name, _ in
        let file = Layout.keyFile(name)
        if file != .foreign { files.insert(file) }
        return true
      }
    }
    return files
  }

  /// Opens a shard; `nil` if there is none.
  func openShard(
    _ number: Int, in entries: EntriesDirectory
  ) throws(StoreError) -> Descriptor? {
    do throws(SystemError) {
      return try fileSystem.open(
        Layout.shard(number), in: entries.directory, [.read, .directory])
    } catch {
      if error == .notFound || error.isWrongKind { return nil }
      throw StoreError(error, path: "\(path)/entries/\(Layout.shard(number).text)")
    }
  }

  /// Returns the keys that have a directory in a shard.
  func keys(in shard: borrowing Descriptor, _ number: Int) throws(StoreError) -> [KeyHash] {
    var hashes: [KeyHash] = []
    let raw = shard.raw
    try system("\(path)/entries/\(Layout.shard(number).text)") { () throws(SystemError) in
      try fileSystem.list(raw) { name, kind in
        if kind == .directory, let hash = Layout.keyHash(name, inShard: number) {
          hashes.append(hash)
        }
        return true
      }
    }
    return hashes
  }

  /// Returns whether the `entries` directory has any contents; false if it cannot be read. A shard
  /// stays when its last key is removed.
  func hasKeys(in entries: EntriesDirectory) -> Bool {
    (try? fileSystem.isEmpty(entries.directory)) == false
  }

  // MARK: Removing files

  /// Removes the files of an entry that the journal no longer has. A file that cannot be removed is
  /// an orphan, which is removed when tree and journal are compared.
  ///
  /// - Parameter others: the other variants of the key.
  func removeFiles(of slot: Slot, _ others: [Slot], in shard: borrowing Shard) {
    let name = Layout.key(slot.keyHash)
    do throws(SystemError) {
      let directory = try fileSystem.open(name, in: shard.directory, [.read, .directory])
      discard(Layout.metadata(slot.variant), in: directory.raw)
      if slot.hasBodyFile,
        !others.contains(where: { $0.hasBodyFile && $0.digest == slot.digest })
      {
        discard(Layout.body(slot.digest), in: directory.raw)
      }
    } catch { return staging.noteLeftover(error) }
    if others.isEmpty { discardDirectory(name, in: shard.directory.raw) }
  }

  /// Removes a file of a key that is no longer needed. If that fails, the next opening compares
  /// tree and journal.
  func discard(_ name: PathName, in directory: Int32) {
    do throws(SystemError) {
      try fileSystem.removeFile(name, in: directory)
    } catch { staging.noteLeftover(error) }
  }

  /// Removes the directory of a key, if it is empty.
  func discardDirectory(_ name: PathName, in directory: Int32) {
    do throws(SystemError) {
      try fileSystem.removeDirectory(name, in: directory)
    } catch { staging.noteLeftover(error) }
  }
}

extension SystemError {
  /// Whether the file may be intact, but cannot be read now: no permission, too many open files, no
  /// memory, a device or a server that fails. That is every error, unless there is no file, or one of
  /// another kind or length, or the file system is damaged.
  var isForNow: Bool {
    code != 0 && self != .notFound && self != .wrongLength && self != .tooLarge && !isWrongKind
      && !isCorruption
  }

  /// Whether the error says nothing about the file. A device may fail again and again in the same place.
  var mayPass: Bool { isForNow && self != .inputOutput }
}
