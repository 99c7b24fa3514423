/// The limits of a store. They are recorded in the store, so that they hold for all its users.
public struct Limits: Sendable, Hashable {
  /// The way in which bytes are counted for the byte limit.
  public enum Accounting: UInt64, Sendable, Hashable {
    /// The bytes allocated on disk in whole blocks: each distinct body once, metadata, directories,
    /// journal.
    case allocated = 0
    /// The sum of the body lengths, whether shared or not.
    case logical = 1
  }

  /// The most bytes of the whole store; `nil` for no limit. If they are counted in blocks, at least three
  /// blocks and the journal: 16 KiB with blocks of 4 KiB.
  public var bytes: UInt64?
  /// The most entries; `nil` for no limit.
  public var entries: UInt64?
  /// The longest body of one entry in bytes; `nil` for no limit.
  public var entryBytes: UInt64?
  /// The bytes that stay free on the volume. Where freed bytes show late (btrfs), storing at this limit
  /// synchronizes the volume.
  public var freeBytes: UInt64
  /// The most bytes of pinned bodies; `nil` for half of `bytes`.
  public var pinnedBytes: UInt64?
  /// The way in which bytes are counted for `bytes`.
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

  /// The most bytes of pinned bodies, with the default filled in.
  package var pinQuota: UInt64 { pinnedBytes ?? bytes.map { $0 / 2 } ?? .max }

  /// The reason why these limits cannot hold, and the remedy; `nil` if they can.
  private var contradiction: (cause: String, remedy: String)? {
    let (more, change) = ("give more, or none", "change one of them")
    if bytes == 0 { return ("a byte limit of 0 leaves no room for anything", more) }
    if entries == 0 { return ("an entry limit of 0 leaves no room for anything", more) }
    if entryBytes == 0 {
      return ("a limit of 0 bytes for one entry leaves no room for anything", more)
    }
    if let bytes, let entryBytes, entryBytes > bytes {
      return ("one entry may have \(entryBytes) bytes, but all together only \(bytes)", change)
    }
    if let bytes, let pinnedBytes, pinnedBytes > bytes {
      return (
        "pinned entries may have \(pinnedBytes) bytes, but all together only \(bytes)", change
      )
    }
    return nil
  }

  /// Throws `invalidLimits` if these limits cannot hold.
  func check(_ path: String) throws(StoreError) {
    guard let (cause, remedy) = contradiction else { return }
    throw StoreError(.invalidLimits, path: path, cause: cause, remedy: remedy)
  }

  /// Throws `invalidLimits` if the byte limit, counted in blocks, holds no entry with a short body: its
  /// body, its metadata, and the least that the journal takes. The limit that a store has stays valid.
  func checkLeastBytes(_ path: String, after old: Limits, blockBytes: UInt64) throws(StoreError) {
    // An eighth of the limit is set aside for the journal.
    let least = max(3 * blockBytes + 4_096, 7 * blockBytes / 2)
    guard let bytes, bytes < least, accounting == .allocated,
      (bytes, accounting) != (old.bytes, old.accounting)
    else { return }
    throw StoreError(
      .invalidLimits, path: path, cause: "a byte limit of \(bytes) leaves no room for anything",
      remedy: "give at least \(least) with blocks of \(blockBytes) bytes, or none")
  }

  /// Throws `invalidLimits` if the bytes that stay free are as many as the volume has: everything would be
  /// evicted. The limit that a store has stays valid.
  func checkFreeBytes(_ path: String, after old: Limits, volumeBytes: UInt64) throws(StoreError) {
    guard freeBytes >= volumeBytes, freeBytes != old.freeBytes, volumeBytes > 0 else { return }
    throw StoreError(
      .invalidLimits, path: path,
      cause: "the volume has \(volumeBytes) bytes, and \(freeBytes) are to stay free",
      remedy: "let fewer bytes stay free")
  }
}

/// An object that computes the size which is compared with the byte limit, for a program that
/// counts in its own way.
///
/// A type of any isolation can be a delegate. The store needs the answer at once, on the thread
/// that changes it, so a `@MainActor` class implements the method as `nonisolated`.
public protocol StoreSizeDelegate: AnyObject, Sendable {
  /// Returns the size of the store in the unit of the byte limit.
  ///
  /// Called for each change while there is a byte limit, from any thread. Must be quick, and must
  /// not call the store.
  func size(of statistics: Statistics) -> UInt64
}
