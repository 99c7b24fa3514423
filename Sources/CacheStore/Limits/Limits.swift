/// How much a store may hold. Recorded in the store, so that all its users see the same.
public struct Limits: Sendable, Hashable {
  /// What the byte limit is held against.
  public enum Accounting: UInt64, Sendable, Hashable {
    /// What is allocated on disk: bodies once each in whole blocks, metadata, directories, journal.
    case allocated = 0
    /// The sum of the body lengths, whether shared or not.
    case logical = 1
  }

  /// The most bytes in all; nil for no limit.
  public var bytes: UInt64?
  /// The most entries; nil for no limit.
  public var entries: UInt64?
  /// The longest body of one entry in bytes; nil for no limit.
  public var entryBytes: UInt64?
  /// The bytes that stay free on the volume for others.
  public var freeBytes: UInt64
  /// The most bytes of pinned bodies; nil for half of `bytes`.
  public var pinnedBytes: UInt64?
  /// What `bytes` is held against.
  public var accounting: Accounting

  /// Creates limits; by default there are none.
  public init(
    bytes: UInt64? = nil, entries: UInt64? = nil, entryBytes: UInt64? = nil,
    freeBytes: UInt64 = 0, pinnedBytes: UInt64? = nil, accounting: Accounting = .allocated
  ) {
    self.bytes = bytes
    self.entries = entries
    self.entryBytes = entryBytes
    self.freeBytes = freeBytes
    self.pinnedBytes = pinnedBytes
    self.accounting = accounting
  }

  /// No limit at all.
  public static let none = Limits()

  /// The pinned bytes allowed, as a number.
  var pinQuota: UInt64 { pinnedBytes ?? bytes.map { $0 / 2 } ?? .max }

  /// Why these limits cannot be kept, or nil.
  var contradiction: String? {
    if bytes == 0 { return "a byte limit of 0 leaves no room for anything" }
    if entries == 0 { return "an entry limit of 0 leaves no room for anything" }
    if entryBytes == 0 { return "a limit of 0 bytes for one entry leaves no room for anything" }
    if let bytes, let entryBytes, entryBytes > bytes {
      return "one entry may have \(entryBytes) bytes, but all together only \(bytes)"
    }
    if let bytes, let pinnedBytes, pinnedBytes > bytes {
      return "pinned entries may have \(pinnedBytes) bytes, but all together only \(bytes)"
    }
    return nil
  }
}

/// Defines the size that the byte limit is held against, for a user who counts otherwise.
///
/// A type of any isolation can be a delegate. Since the store needs the answer at once, on the thread that
/// changes it, a `@MainActor` class implements the method as `nonisolated`.
public protocol StoreSizeDelegate: AnyObject, Sendable {
  /// Returns the bytes that the store counts as held.
  ///
  /// Called after each change, from any thread, and must be quick. Must not call the store.
  func size(of statistics: Statistics) -> UInt64
}
