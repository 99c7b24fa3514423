package import CacheSystem

/// An error of a store, with the path, the cause and a remedy.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of error; later versions may have more.
  public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind.
    public var rawValue: String
    /// The name of the kind.
    public var description: String { rawValue }
    /// Creates a kind from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The path is no directory.
    public static let notADirectory = Code(rawValue: "notADirectory")
    /// There is no store, and the options do not allow making one.
    public static let notFound = Code(rawValue: "notFound")
    /// The directory is not empty, and holds no store.
    public static let notAStore = Code(rawValue: "notAStore")
    /// The user may not read or write the path.
    public static let permissionDenied = Code(rawValue: "permissionDenied")
    /// The store belongs to another user.
    public static let foreignOwner = Code(rawValue: "foreignOwner")
    /// The file system is read-only, or the store was opened for reading only.
    public static let readOnly = Code(rawValue: "readOnly")
    /// A newer version wrote the store.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// The disk or the quota is full, and evictions did not make enough room; or the store is at
    /// its limits, and nothing more can be evicted.
    public static let noSpace = Code(rawValue: "noSpace")
    /// The store is at its limits, and all its entries were accessed later than the entry to be
    /// added during a migration, or since a crawl began.
    public static let leastRecent = Code(rawValue: "leastRecent")
    /// The key is empty.
    public static let keyEmpty = Code(rawValue: "keyEmpty")
    /// The key has more than `Store.maximumKeyBytes`.
    public static let keyTooLong = Code(rawValue: "keyTooLong")
    /// Key, fields, user info and tags have more than `Store.maximumMetadataBytes` together, there
    /// are too many of them, or the status is not between 0 and 999.
    public static let metadataTooLarge = Code(rawValue: "metadataTooLarge")
    /// The body is longer than the limits allow.
    public static let entryTooLarge = Code(rawValue: "entryTooLarge")
    /// The body has another length than was stated before it was written.
    public static let wrongLength = Code(rawValue: "wrongLength")
    /// The limits contradict each other or hold no entry, or more bytes are pinned than they allow.
    public static let invalidLimits = Code(rawValue: "invalidLimits")
    /// Pinning the entry would exceed the quota for pinned bytes.
    public static let pinQuotaExceeded = Code(rawValue: "pinQuotaExceeded")
    /// A part of the store that is needed is damaged.
    public static let damaged = Code(rawValue: "damaged")
    /// The store was closed, or the writer has committed or discarded its body.
    public static let closed = Code(rawValue: "closed")
    /// Any other failure of the operating system.
    public static let inputOutput = Code(rawValue: "inputOutput")
  }

  /// The kind of the error.
  public var code: Code
  /// The path of the file or directory that the error is about.
  public var path: String
  /// The offset in the file in bytes, if known.
  public var offset: UInt64?
  /// The errno of the failed system call, or 0.
  public var errno: Int32
  /// The cause, as a sentence without a full stop.
  public var cause: String
  /// The remedy.
  public var remedy: String

  /// Creates an error.
  public init(
    _ code: Code, path: String, offset: UInt64? = nil, errno: Int32 = 0, cause: String,
    remedy: String
  ) {
    self.code = code
    self.path = path
    self.offset = offset
    self.errno = errno
    self.cause = cause
    self.remedy = remedy
  }

  /// The text "path: cause; remedy".
  public var description: String {
    let place = offset.map { " at byte \($0)" } ?? ""
    return "\(path)\(place): \(cause); \(remedy)"
  }

  /// Two errors are equal when they have the same code, path and errno.
  public static func == (a: StoreError, b: StoreError) -> Bool {
    a.code == b.code && a.path == b.path && a.errno == b.errno
  }

  /// Hashes the code and the path.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(path)
  }
}

extension StoreError {
  /// Makes the error that a failed system call means for the store.
  package init(_ error: SystemError, path: String) {
    let (code, remedy): (Code, String)
    switch error {
    case _ where error.isNoSpace:
      (code, remedy) = (
        .noSpace, "free space on the disk (or inodes: df -i), or give the store smaller limits"
      )
    case _ where error.isPermission:
      (code, remedy) = (
        .permissionDenied, "check owner and mode of it and its folder, or choose another store"
      )
    case _ where error.isReadOnly:
      (code, remedy) = (.readOnly, "only read it, or choose a store on another disk")
    case .notFound:
      (code, remedy) = (
        .notFound,
        "check the path; if the folder was deleted or moved meanwhile, open it or start the command again"
      )
    case _ where error.isWrongKind:
      (code, remedy) = (.notADirectory, "a part of the path is no folder; choose another")
    case .nameTooLong:
      (code, remedy) = (.notFound, "choose a shorter path")
    case _ where error.isOutOfDescriptors:
      (code, remedy) = (.inputOutput, "allow more open files (ulimit -n), then try again")
    default:
      (code, remedy) = (.inputOutput, "check the disk, then the store")
    }
    self.init(code, path: path, errno: error.code, cause: error.description, remedy: remedy)
  }

  static func closed(_ path: String) -> StoreError {
    StoreError(
      .closed, path: path, cause: "it was closed before", remedy: "open it again")
  }
}

extension StoreError {
  /// Whether other entries may be free of it: perhaps the system could not read one file or shard.
  var mayBeOfOneEntry: Bool {
    (code == .inputOutput || code == .permissionDenied) && !SystemError(errno).isOutOfDescriptors
  }

  /// An operation was tried some times, and others changed the entries of the key each time.
  static func contended(_ path: String) -> StoreError {
    StoreError(
      .inputOutput, path: path,
      cause: "the entries of the key were changed again and again meanwhile", remedy: "try again")
  }

  static func readOnly(_ path: String) -> StoreError {
    StoreError(
      .readOnly, path: path, cause: "the store was opened for reading only",
      remedy: "open it without that option")
  }

  static func unreadable(_ path: String) -> StoreError {
    StoreError(
      .inputOutput, path: path, cause: "the system cannot read it for now",
      remedy: "check the permissions and the disk, then try again")
  }
}
