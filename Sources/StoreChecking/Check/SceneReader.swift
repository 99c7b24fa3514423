internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A reader of the scenes of keys; for one thread.
///
/// Only regular files and directories are opened, according to their directory or fstatat(2), and
/// never through a link. The status of others is read with fstatat(2), that of open files with
/// fstat(2).
final class SceneReader {
  private let store: CheckedStore
  private let bodies: BodyHasher
  private let shared: SharedFiles
  private let isDeep: Bool
  private(set) var files = 0
  /// The error after which nothing more can be read: the process has too many open files, or the
  /// journal cannot be read.
  private(set) var failure: SystemError?

  private var fileSystem: any FileSystem { store.fileSystem }

  init(_ store: CheckedStore, _ bodies: BodyHasher, _ shared: SharedFiles, isDeep: Bool) {
    self.store = store
    self.bodies = bodies
    self.shared = shared
    self.isDeep = isDeep
  }

  /// Reads one key.
  ///
  /// - Parameters:
  ///   - indexed: the index entries of the key, which were read before.
  ///   - shard: the directory of the shard; `nil` if there is none.
  func read(_ hash: KeyHash, _ indexed: IndexedKey, in shard: Int32?) -> KeyScene {
    var scene = KeyScene(hash: hash, indexed)
    guard let shard else { return scene }
    let name = Layout.key(hash)
    do throws(SystemError) {
      let directory = try fileSystem.open(name, in: shard, [.read, .directory])
      scene.directory = .directory(try fileSystem.status(of: directory.raw))
      files += 1
      try readNames(&scene, directory)
      readBodies(&scene, directory)
    } catch {
      note(error)
      scene.directory = whatStands(name, in: shard, after: error)
    }
    return scene
  }

  /// Reads one key and its present index entries. The shard is locked, so that no process is just
  /// storing an entry without a record.
  ///
  /// - Returns: `nil` if nothing may be decided because of `failure`.
  func read(_ hash: KeyHash, inLocked shard: Int32) -> KeyScene? {
    do throws(SystemError) {
      var scene = read(hash, try store.indexed([hash])[0], in: shard)
      try readGoodbyes(&scene)
      return failure == nil ? scene : nil
    } catch {
      failure = error
      return nil
    }
  }

  /// Returns the state of a directory that could not be opened or read.
  private func whatStands(
    _ name: PathName, in shard: Int32, after error: SystemError
  ) -> DirectoryScene {
    if error == .notFound { return .missing }
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: shard)
      files += 1
      return status.kind == .directory ? .unreadable(error, status) : .other(status.kind)
    } catch {
      return error == .notFound ? .missing : .unreadable(error, nil)
    }
  }

  private func note(_ error: SystemError) {
    if error.isOutOfDescriptors { failure = error }
  }

  /// Notes that the status of a file could not be read. A file that is not in the scene counts as missing
  /// only if the system says so.
  private func note(_ error: SystemError, _ name: PathName, _ scene: inout KeyScene) {
    note(error)
    if error != .notFound { scene.unreadable.append((name, error)) }
  }

  /// Lists the directory, reads the files that the index expects, and then the others.
  private func readNames(
    _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) throws(SystemError) {
    let found = try list(directory, scene.slots)
    scene.uncountedNames = found.uncounted
    for slot in scene.slots {
      readMetadata(
        slot.variant, isFile: found.metadataFiles.contains(slot.variant), &scene, directory)
    }
    for slot in scene.slots where slot.hasBodyFile && scene.bodies[slot.digest] == nil {
      readStatus(of: slot.digest, &scene, directory)
    }
    for (name, kind) in found.extras {
      switch Layout.keyFile(name) {
      case .metadata(let variant):
        readMetadata(variant, isFile: kind == .file, &scene, directory)
      case .body(let digest): readStatus(of: digest, &scene, directory)
      case .foreign where scene.strays.count < CheckLimits.strays:
        scene.strays.append((name, kind))
      case .foreign: scene.uncountedNames += 1
      }
    }
  }

  private struct Names {
    /// The variants of the index whose metadata files exist as regular files.
    var metadataFiles: Set<UInt64> = []
    /// Names without an entry in the index, at most `KeyScene.maximumExtras`.
    var extras: [(PathName, FileKind)] = []
    /// The number of names beyond that bound.
    var uncounted = 0
  }

  private func list(
    _ directory: borrowing Descriptor, _ slots: [Slot]
  ) throws(SystemError) -> Names {
    var names = Names()
    try fileSystem.list(fresh: directory.raw) { name, kind in
      switch Layout.keyFile(name) {
      case .metadata(let variant) where slots.contains { $0.variant == variant }:
        if kind == .file { names.metadataFiles.insert(variant) }
        return true
      case .body(let digest) where slots.contains { $0.hasBodyFile && $0.digest == digest }:
        return true
      default: break
      }
      if names.extras.count < KeyScene.maximumExtras {
        names.extras.append((name, kind))
      } else {
        names.uncounted += 1
      }
      return names.uncounted < CheckLimits.names
    }
    return names
  }

  private func readStatus(
    of digest: Digest, _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) {
    do throws(SystemError) {
      let status = try fileSystem.status(at: Layout.body(digest), in: directory.raw)
      files += 1
      scene.bodies[digest] = BodyScene(status: status, reading: .notRead)
    } catch { note(error, Layout.body(digest), &scene) }
  }

  // MARK: Metadata

  /// Reads a metadata file into the scene.
  ///
  /// - Parameter isFile: whether the list of the directory had a regular file with that name. It
  ///   may be gone meanwhile.
  private func readMetadata(
    _ variant: UInt64, isFile: Bool, _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) {
    let name = Layout.metadata(variant)
    var status: FileStatus?
    if !isFile {
      guard let found = self.status(name, &scene, directory) else { return }
      guard found.kind == .file else {
        files += 1
        scene.metadata[variant] = MetadataScene(status: found, reading: .wrongKind)
        return
      }
      status = found
    }
    let reading: DocumentReading
    do throws(SystemError) {
      let bytes = try fileSystem.readFile(
        name, in: directory, limit: MetadataDocument.maximumBytes, &status)
      reading = read(bytes, scene.slot(variant), &scene.differences)
    } catch  where error == .notFound { return } catch  where error == .tooLarge {
      let detail = "it has \(status?.length ?? 0) bytes, over \(MetadataDocument.maximumBytes)"
      reading = .damaged(FormatError(.tooLarge, detail))
    } catch {
      note(error)
      // The status is not known of a file that could not be opened.
      if status == nil { status = self.status(name, &scene, directory) }
      reading = status?.kind == .file ? .unreadable(error) : .wrongKind
    }
    guard let status else { return }
    files += 1
    scene.metadata[variant] = MetadataScene(status: status, reading: reading)
  }

  /// Returns the status of a file; `nil` if it is missing or cannot be read, which is noted.
  private func status(
    _ name: PathName, _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) -> FileStatus? {
    do throws(SystemError) {
      return try fileSystem.status(at: name, in: directory.raw)
    } catch {
      note(error, name, &scene)
      return nil
    }
  }

  private func read(
    _ bytes: [UInt8], _ slot: Slot?, _ differences: inout [UInt64: String]
  ) -> DocumentReading {
    do throws(FormatError) {
      let document = try MetadataDocument(decoding: bytes, hashSeed: store.hashSeed)
      let entry = document.entry
      if isDeep, let body = document.body { bodies.count(embedded: body) }
      if isDeep, let slot, let record = store.catalog?.record(of: slot) {
        differences[slot.variant] = differing(record, entry)
      }
      return .document(
        DocumentFacts(
          key: entry.key, keyHash: KeyHash(hashing: entry.key, seed: store.hashSeed),
          variant: entry.variant, digest: entry.digest, length: entry.length,
          isPinned: entry.isPinned,
          created: entry.created, sequence: document.sequence, hasBody: document.body != nil,
          isOverheadWrong: slot.map {
            store.isWrong(overhead: $0.overhead, documentBytes: bytes.count)
          } ?? false, bytes: bytes.count))
    } catch {
      return .damaged(error)
    }
  }

  /// Reads from the journal why it no longer has the entries of intact metadata files.
  private func readGoodbyes(_ scene: inout KeyScene) throws(SystemError) {
    guard let catalog = store.catalog, catalog.isJournalKnown else { return }
    for (variant, file) in scene.metadata where scene.slot(variant) == nil {
      guard case .document(let facts) = file.reading, facts.keyHash == scene.hash,
        facts.variant == variant
      else { continue }
      do throws(StoreError) {
        scene.goodbyes[variant] = try catalog.goodbye(
          to: scene.hash, variant, facts.digest, sequence: facts.sequence)
      } catch { throw SystemError(error) }
    }
  }

  /// Returns the members in which a record differs from its metadata file; `nil` if there are none.
  private func differing(_ record: PutRecord, _ entry: StoredEntry) -> String? {
    let metadata = record.metadata
    let differing: [(String, Bool)] = [
      ("key", !record.hasKey(entry.key)),
      ("status", metadata.status != entry.status),
      ("fields", metadata.fields != entry.fields),
      ("user info", metadata.userInfo != entry.userInfo),
      ("tags", metadata.tags != entry.tags),
      ("expiry", metadata.expires != entry.expires),
      ("time stored", record.head.created != entry.created),
    ]
    let names = differing.filter(\.1).map(\.0)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }

  // MARK: Bodies

  private func readBodies(_ scene: inout KeyScene, _ directory: borrowing Descriptor) {
    for slot in scene.slots where scene.sharesFiles {
      guard let body = scene.bodies[slot.digest], body.status.kind == .file else { continue }
      if let other = shared.other(than: body.status, of: slot, in: store) {
        scene.unshared[slot.variant] = other
      }
    }
    guard isDeep else { return }
    var wanted = Dictionary(
      scene.slots.filter(\.hasBodyFile).map { ($0.digest, $0.length) },
      uniquingKeysWith: { first, _ in first })
    for case .document(let facts) in scene.metadata.values.map(\.reading)
    where !facts.hasBody && wanted[facts.digest] == nil {
      wanted[facts.digest] = facts.length
    }
    for (digest, length) in wanted {
      // A body with a wrong length is not read. It is wrong anyway, and might be endless.
      guard let body = scene.bodies[digest], body.status.kind == .file,
        body.status.length == length
      else { continue }
      let reading = bodies.read(Layout.body(digest), body.status, in: directory, expecting: digest)
      if case .unreadable(let error) = reading { note(error) }
      scene.bodies[digest]?.reading = reading
    }
  }
}
