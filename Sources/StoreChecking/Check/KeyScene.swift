internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// What the index says of one key, and what its directory holds: all that `examine` goes by.
///
/// Its size is bounded: metadata is reduced to facts when it is read, and of the names that no entry
/// has only the first are kept.
struct KeyScene: Sendable {
  /// The most names kept that the index does not know; more are counted.
  static let maximumExtras = 1024

  let hash: KeyHash
  /// The path of the directory below the store.
  var path: [UInt8] { Array("entries/".utf8) + Layout.keyPath(hash).bytes }
  /// The variants of the key, by the index.
  let slots: [Slot]
  /// Whether one of them has its body file together with other entries, by the index.
  let sharesFiles: Bool
  var directory: DirectoryScene = .missing
  /// The metadata files that are there, by variant.
  var metadata: [UInt64: MetadataScene] = [:]
  /// The bodies that are there.
  var bodies: [Digest: BodyScene] = [:]
  /// What the journal says of variants that the index does not have; asked with the shard locked only.
  var goodbyes: [UInt64: Goodbye] = [:]
  /// What the records say against the metadata files; read by a deep check only.
  var records: [UInt64: RecordReading] = [:]
  /// The slots whose body is another file than that of the entries it should share with: by variant
  /// the path of the other one.
  var unshared: [UInt64: [UInt8]] = [:]
  /// Names that are none of the format, at most `CheckLimits.strays`.
  var strays: [(name: PathName, kind: FileKind)] = []
  /// The names beyond these bounds, of whatever kind.
  var uncountedNames = 0

  init(hash: KeyHash, _ indexed: IndexedKey) {
    self.hash = hash
    slots = indexed.slots
    sharesFiles = indexed.sharesFiles
  }

  func slot(_ variant: UInt64) -> Slot? { slots.first { $0.variant == variant } }

  /// The path of a name in the directory.
  func path(_ name: PathName) -> [UInt8] { path + [UInt8(ascii: "/")] + name.bytes }
}

/// What stands where the directory of a key should.
enum DirectoryScene: Sendable {
  case missing
  case directory(FileStatus)
  case other(FileKind)
  case unreadable(SystemError)
}

/// A metadata file.
struct MetadataScene: Sendable {
  var status: FileStatus
  var reading: DocumentReading
}

/// What a metadata file says.
enum DocumentReading: Sendable {
  case document(DocumentFacts)
  case damaged(FormatError)
  /// No regular file stands there; it was not opened.
  case wrongKind
  case unreadable(SystemError)
}

/// What is kept of a metadata file once it has been read.
struct DocumentFacts: Sendable {
  var key: ByteString
  /// The hash of the key with the store's seed.
  var keyHash: KeyHash
  var variant: UInt64
  var digest: Digest
  var length: UInt64
  var isPinned: Bool
  /// When the entry was stored.
  var created: Timestamp
  /// The same in whole seconds since 1970, as a slot has it.
  var createdSeconds: UInt32 { UInt32(clamping: created.nanoseconds / 1_000_000_000) }
  /// Whether the record counts other bytes for the file and its directory than they take.
  var isOverheadWrong: Bool
  /// The bytes of the file.
  var bytes: Int
}

/// A body.
struct BodyScene: Sendable {
  var status: FileStatus
  var reading: BodyReading
}

/// What the bytes of a body are.
enum BodyReading: Sendable, Hashable {
  /// A quick check reads none.
  case notRead
  /// Just what its name says.
  case right
  case wrong(Digest)
  case unreadable(SystemError)
}

/// What the record of an entry is, and says against its metadata file.
enum RecordReading: Sendable, Hashable {
  case same
  /// It and the metadata file differ, in this.
  case differs(String)
}
