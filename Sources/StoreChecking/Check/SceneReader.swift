internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Reads what there is of one key; for one thread.
///
/// Nothing is opened but regular files and directories, as fstatat(2) says, and never through a link.
final class SceneReader {
  private let store: CheckedStore
  private let bodies: BodyHasher
  private let shared: SharedFiles
  private let isDeep: Bool
  /// How many files and directories were looked at.
  private(set) var files = 0
  /// Why nothing more can be read: the process has no descriptors left, say.
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
  /// - Parameter shard: the directory of the shard; nil where there is none.
  func read(_ hash: KeyHash, in shard: Int32?) -> KeyScene {
    var scene = KeyScene(
      hash: hash, path: Array("entries/".utf8) + Layout.keyPath(hash).bytes,
      slots: store.slots(of: hash))
    let name = Layout.key(hash)
    guard let shard else { return scene }
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: shard)
      files += 1
      guard status.kind == .directory else {
        scene.directory = .other(status.kind)
        return scene
      }
      scene.directory = .directory(status)
      let directory = Descriptor(
        try fileSystem.openOnce(name, in: shard, [.read, .directory], mode: 0), of: fileSystem)
      try readNames(&scene, directory)
      readBodies(&scene, directory)
    } catch {
      note(error)
      scene.directory = error == .notFound ? .missing : .unreadable(error)
    }
    return scene
  }

  private func note(_ error: SystemError) {
    if error.isOutOfDescriptors { failure = error }
  }

  /// Looks at what the index expects first, and then at what else there is.
  private func readNames(
    _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) throws(SystemError) {
    for slot in scene.slots { readMetadata(slot.variant, &scene, directory) }
    for slot in scene.slots where scene.bodies[slot.digest] == nil {
      readStatus(of: slot.digest, &scene, directory)
    }
    // Safety of the borrow: a closure cannot hold the descriptor, its number can.
    var extras: [(PathName, FileKind)] = []
    var more = 0
    let known = scene
    try fileSystem.list(directory.raw) { name, kind in
      switch Layout.keyFile(name) {
      case .metadata(let variant) where known.metadata[variant] != nil: return true
      case .body(let digest) where known.bodies[digest] != nil: return true
      default: break
      }
      if extras.count < KeyScene.maximumExtras {
        extras.append((name, kind))
      } else {
        more += 1
      }
      return more < CheckLimits.names
    }
    scene.uncountedNames = more
    for (name, kind) in extras {
      switch Layout.keyFile(name) {
      case .metadata(let variant): readMetadata(variant, &scene, directory)
      case .body(let digest): readStatus(of: digest, &scene, directory)
      case .foreign where scene.strays.count < CheckLimits.strays:
        scene.strays.append((name, kind))
      case .foreign: scene.uncountedNames += 1
      }
    }
  }

  private func readStatus(
    of digest: Digest, _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) {
    do throws(SystemError) {
      let status = try fileSystem.status(at: Layout.body(digest), in: directory.raw)
      files += 1
      scene.bodies[digest] = BodyScene(status: status, reading: .notRead)
    } catch {
      // Missing: what the scene does not have.
      note(error)
    }
  }

  // MARK: Metadata

  private func readMetadata(
    _ variant: UInt64, _ scene: inout KeyScene, _ directory: borrowing Descriptor
  ) {
    let name = Layout.metadata(variant)
    guard let status = try? fileSystem.status(at: name, in: directory.raw) else { return }
    files += 1
    guard status.kind == .file else {
      scene.metadata[variant] = MetadataScene(status: status, reading: .wrongKind)
      return
    }
    var reading: DocumentReading
    do throws(SystemError) {
      let bytes = try fileSystem.readFile(
        name, in: directory, limit: MetadataDocument.maximumBytes)
      reading = read(bytes, scene.slot(variant), &scene.records)
    } catch  where error == .notFound { return } catch  where error == .tooLarge {
      reading = .damaged(
        FormatError(
          .tooLarge, "it has \(status.length) bytes, over \(MetadataDocument.maximumBytes)"))
    } catch {
      note(error)
      reading = .unreadable(error)
    }
    scene.metadata[variant] = MetadataScene(status: status, reading: reading)
  }

  private func read(
    _ bytes: [UInt8], _ slot: Slot?, _ records: inout [UInt64: RecordReading]
  ) -> DocumentReading {
    do throws(FormatError) {
      let document = try MetadataDocument(decoding: bytes, hashSeed: store.hashSeed)
      let entry = document.entry
      if isDeep, let slot, let record = store.engine?.record(of: slot) {
        records[slot.variant] = compare(record, entry)
      }
      return .document(
        DocumentFacts(
          key: entry.key, keyHash: KeyHash(hashing: entry.key, seed: store.hashSeed),
          variant: entry.variant, digest: entry.digest, length: entry.length,
          isPinned: entry.isPinned,
          createdSeconds: UInt32(clamping: entry.created.nanoseconds / 1_000_000_000),
          isOverheadWrong: slot.map {
            store.isWrong(overhead: $0.overhead, documentBytes: bytes.count)
          } ?? false, bytes: bytes.count))
    } catch {
      return .damaged(error)
    }
  }

  /// Holds a record against its metadata file, member by member.
  private func compare(_ record: PutRecord, _ entry: StoredEntry) -> RecordReading {
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
    return names.isEmpty ? .same : .differs(names.joined(separator: ", "))
  }

  // MARK: Bodies

  private func readBodies(_ scene: inout KeyScene, _ directory: borrowing Descriptor) {
    for slot in scene.slots {
      guard let body = scene.bodies[slot.digest], body.status.kind == .file else { continue }
      if let other = shared.other(than: body.status, of: slot, in: store) {
        scene.unshared[slot.variant] = other
      }
    }
    guard isDeep else { return }
    var wanted = Dictionary(
      scene.slots.map { ($0.digest, $0.length) }, uniquingKeysWith: { first, _ in first })
    for case .document(let facts) in scene.metadata.values.map(\.reading)
    where wanted[facts.digest] == nil {
      wanted[facts.digest] = facts.length
    }
    for (digest, length) in wanted {
      // One of a wrong length is wrong without being read; it might have no end.
      guard let body = scene.bodies[digest], body.status.kind == .file,
        body.status.length == length
      else { continue }
      let reading = bodies.read(Layout.body(digest), body.status, in: directory, expecting: digest)
      if case .unreadable(let error) = reading { note(error) }
      scene.bodies[digest]?.reading = reading
    }
  }
}
