internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The index entries of one key, and the contents of its directory: the whole input of
/// `Examination.examine`.
///
/// Its size is bounded. Metadata is reduced to facts when it is read, and of the names that belong
/// to no entry only the first are kept.
struct KeyScene: Sendable {
  /// The most names without an entry in the index that are kept; more are counted.
  static let maximumExtras = 1024

  let hash: KeyHash
  /// The path of the directory below the store.
  var path: [UInt8] { Array("entries/".utf8) + Layout.keyPath(hash).bytes }
  let slots: [Slot]
  /// Whether one of them shares its body file with other entries, according to the index.
  let sharesFiles: Bool
  var directory: DirectoryScene = .missing
  var metadata: [UInt64: MetadataScene] = [:]
  var bodies: [Digest: BodyScene] = [:]
  /// The files of entries whose status the system could not read.
  var unreadable: [(name: PathName, error: SystemError)] = []
  /// The reasons for which the journal no longer has variants whose files are in the directory.
  /// Only read with the shard locked.
  var goodbyes: [UInt64: Goodbye] = [:]
  /// The members in which records differ from metadata files, by variant. Only a deep check compares
  /// them.
  var differences: [UInt64: String] = [:]
  /// The variants whose body should be the same file as that of another entry, and is not: the path
  /// of the other file by variant.
  var unshared: [UInt64: [UInt8]] = [:]
  /// Foreign names, at most `CheckLimits.strays`.
  var strays: [(name: PathName, kind: FileKind)] = []
  /// The number of names beyond these bounds, of any kind.
  var uncountedNames = 0

  init(hash: KeyHash, _ indexed: IndexedKey) {
    self.hash = hash
    slots = indexed.slots
    sharesFiles = indexed.sharesFiles
  }

  func slot(_ variant: UInt64) -> Slot? { slots.first { $0.variant == variant } }

  /// Returns whether neither file of an entry is there. One that cannot be read is there.
  func lacks(_ slot: Slot) -> Bool {
    if metadata[slot.variant] != nil || !slot.isEmbedded && bodies[slot.digest] != nil {
      return false
    }
    return !isUnreadable(Layout.metadata(slot.variant))
      && (slot.isEmbedded || !isUnreadable(Layout.body(slot.digest)))
  }

  /// Whether there may be metadata files that could not be read, so that nobody knows of which entry they
  /// are.
  var hasUnreadable: Bool {
    if case .unreadable = directory { return true }
    for case .unreadable in metadata.values.map(\.reading) { return true }
    for case .metadata in unreadable.map({ Layout.keyFile($0.name) }) { return true }
    return false
  }

  /// Returns whether the system could not tell if a file is there.
  func isUnreadable(_ name: PathName) -> Bool {
    unreadable.contains { $0.name.bytes == name.bytes }
  }

  func path(_ name: PathName) -> [UInt8] { path + [UInt8(ascii: "/")] + name.bytes }
}

enum DirectoryScene: Sendable {
  case missing
  case directory(FileStatus)
  case other(FileKind)
  case unreadable(SystemError, FileStatus?)
}

struct MetadataScene: Sendable {
  var status: FileStatus
  var reading: DocumentReading
}

enum DocumentReading: Sendable {
  case document(DocumentFacts)
  case damaged(FormatError)
  /// It is no regular file, and was not opened.
  case wrongKind
  case unreadable(SystemError)
}

/// The facts that are kept of a metadata file.
struct DocumentFacts: Sendable {
  var key: ByteString
  var keyHash: KeyHash
  var variant: UInt64
  var digest: Digest
  var length: UInt64
  var isPinned: Bool
  var created: Timestamp
  /// The same in whole seconds since 1970, as a slot has it.
  var createdSeconds: UInt32 { UInt32(clamping: created.nanoseconds / 1_000_000_000) }
  /// The number of the record of the entry; `nil` in a file that has none.
  var sequence: UInt64?
  /// Whether the file has the body, so that there is no body file.
  var hasBody: Bool
  /// Whether the size of the file and its directory in the record is wrong.
  var isOverheadWrong: Bool
  var bytes: Int
}

struct BodyScene: Sendable {
  var status: FileStatus
  var reading: BodyReading
}

enum BodyReading: Sendable, Hashable {
  /// A quick check reads no bodies, and one that is cancelled none to its end.
  case notRead
  /// The bytes have the digest in the name.
  case right
  case wrong(Digest)
  case unreadable(SystemError)
}
