internal import CacheStore
internal import CacheSystem

/// Something that looks wrong. It becomes a finding if it still looks wrong with the lock held that
/// excludes all changes.
struct Suspicion: Sendable {
  var kind: FindingKind
  /// The path below the store. Kind and path identify a suspicion.
  var path: [UInt8]
  /// The name in the examined directory; `nil` if the suspicion is about the directory itself.
  var name: PathName?
  var variant: UInt64?
  var key: [UInt8]?
  var detail: String

  func finding(_ outcome: Finding.Outcome = .left, lostEntries: Int = 0) -> Finding {
    Finding(
      kind, path: path, key: key, detail: detail, outcome: outcome,
      lostEntries: lostEntries)
  }

  /// Whether its repair may give an entry up.
  var mayLose: Bool { kind.facts.losesData || kind == .metadataMissing }

  /// Returns whether it is about an entry, or about a body that the entry shares with other variants.
  func isAbout(_ slot: Slot) -> Bool {
    variant == slot.variant || name?.bytes == Layout.body(slot.digest).bytes
  }

  func isSame(as other: Suspicion) -> Bool { kind == other.kind && path == other.path }

  /// Returns whether another examination has found it again, could not read what it is about, or has not
  /// found the entry any more.
  func isLeft(in later: [Suspicion]) -> Bool {
    later.contains {
      isSame(as: $0) || $0.kind == .unreadable && path.isAtOrBelow($0.path)
        || $0.kind == .entryMissing && kind.facts.losesData && variant == $0.variant
    }
  }
}

extension [UInt8] {
  /// Returns whether this path is another one, or lies below it. An empty one is the store.
  func isAtOrBelow(_ other: [UInt8]) -> Bool {
    self == other || other.isEmpty || starts(with: other + [UInt8(ascii: "/")])
  }
}
