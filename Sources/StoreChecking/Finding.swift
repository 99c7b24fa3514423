internal import CacheFormat

/// One thing that is wrong with a store.
public struct Finding: Sendable, Hashable {
  /// The outcome of a repair.
  public enum Outcome: Sendable, Hashable {
    /// There was nothing to do, or the level of the repair does not include it.
    case left
    /// It is repaired, which was checked after the repair.
    case repaired
    /// The repair failed, for this reason.
    case failed(String)
  }

  /// The kind of the finding.
  public var kind: FindingKind
  /// The path below the store as raw bytes; empty for the store itself.
  public var path: [UInt8]
  /// The key of the entry, if known.
  public var key: [UInt8]?
  /// A short description with the numbers: "700 bytes, should be 5,000".
  public var detail: String
  /// The outcome of a repair.
  public var outcome: Outcome
  /// The number of entries that the repair took out of the store, because nothing could restore
  /// them, or would take (``CheckOptions/forecast``). Variants of a key may have one body.
  public var lostEntries: Int
  /// Whether a safe repair (``CheckOptions/forecast``) would treat it unlike most of its kind: restore the
  /// entry or body, although only one of all damage repairs every one, or leave it to that.
  package var isException = false

  package init(
    _ kind: FindingKind, path: [UInt8], key: [UInt8]? = nil, detail: String,
    outcome: Outcome = .left, lostEntries: Int = 0
  ) {
    self.kind = kind
    self.path = path
    self.key = key
    self.detail = detail
    self.outcome = outcome
    self.lostEntries = lostEntries
  }

  /// The shard with whose check it is found: `entries/3f/…` belongs to 3f. `nil` for other paths, and
  /// for the kind, mode, owner and time of `entries/3f` itself, which every check looks at.
  package var shard: UInt8? {
    let prefix = Array("entries/".utf8)
    guard path.starts(with: prefix) else { return nil }
    let rest = path.dropFirst(prefix.count)
    let name = rest.prefix { $0 != UInt8(ascii: "/") }
    let ofDirectory: Set<FindingKind> = [.wrongKind, .wrongMode, .wrongOwner, .timeImplausible]
    guard name.count == 2, name.count < rest.count || !ofDirectory.contains(kind)
    else { return nil }
    return Hexadecimal.parse(name).map { UInt8($0) }
  }
}
