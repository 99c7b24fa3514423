internal import CacheSystem

/// Something that looks wrong. It is a finding once it still does with the lock held that keeps out
/// whoever may be changing it.
struct Suspicion: Sendable {
  var kind: FindingKind
  /// The path below the store; with the kind it tells whether two suspicions are the same.
  var path: [UInt8]
  /// The name within the directory that was looked at; nil where it is about the directory itself.
  var name: PathName?
  /// The variant, where it is about one entry.
  var variant: UInt64?
  /// The key of the entry, where one is known.
  var key: [UInt8]?
  /// What was found, in a few words with the numbers.
  var detail: String

  init(
    _ kind: FindingKind, path: [UInt8], name: PathName? = nil, variant: UInt64? = nil,
    key: [UInt8]? = nil, _ detail: String
  ) {
    self.kind = kind
    self.path = path
    self.name = name
    self.variant = variant
    self.key = key
    self.detail = detail
  }

  /// The finding that it is.
  func finding(_ outcome: Finding.Outcome = .left) -> Finding {
    Finding(kind, path: path, key: key, detail: detail, outcome: outcome)
  }

  /// Whether both are about the same thing.
  func isSame(as other: Suspicion) -> Bool { kind == other.kind && path == other.path }
}
