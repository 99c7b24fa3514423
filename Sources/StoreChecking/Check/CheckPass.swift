internal import CacheFormat
internal import Synchronization

/// What a repair remembers from one pass to the next.
final class RepairMemory: Sendable {
  /// Set once the whole tree was searched for entries whose records are lost.
  let hasSearched = Flag()
  private let detours = Mutex<Set<[UInt8]>>([])

  /// Adds the path of a directory that was made for an entry which was in the place of another.
  func insert(detour path: [UInt8]) { detours.withLock { _ = $0.insert(path) } }
  func isDetour(_ path: [UInt8]) -> Bool { detours.withLock { $0.contains(path) } }
}

/// A flag that any thread may set, and that stays set.
final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}

/// One pass over a store: what it does with missing entries, and what it could not find out.
final class CheckPass: Sendable {
  /// What a pass does with entries that are missing or have no right body, and that nothing restores.
  enum Missing: Sendable {
    /// Neither reports nor gives them up: this pass may find and place them.
    case wait
    /// Reports them: they may be what the pass before could not read or place.
    case keep
    /// Gives them up: the pass before has read everything, and all entries that it found are in their places.
    case giveUp
  }

  let missing: Missing
  /// Set if something could not be read or repaired that may be an entry. Then what dead processes left
  /// stays.
  let hasFailed = Flag()
  /// Set if there may be whole entries that are not in their places.
  let hasUnplaced = Flag()
  /// Set if a finding was left to the next pass.
  let hasSpared = Flag()
  let memory: RepairMemory
  /// Set if an entry in the directory of a detour was placed, which is no finding.
  let hasPlacedDetour = Flag()

  init(_ missing: Missing = .keep, _ memory: RepairMemory = RepairMemory()) {
    self.missing = missing
    self.memory = memory
  }

  /// Whether all entries are known, so that those that are missing are nowhere.
  var foundAll: Bool { !hasFailed.isSet && !hasUnplaced.isSet }

  /// Returns whether a finding that was not repaired is left to the next pass.
  func spares(_ kind: FindingKind) -> Bool {
    missing == .wait && (kind == .entryMisplaced || kind.facts.losesData)
  }
}
