internal import CacheStore
internal import CacheSystem

/// The outcome of an attempt to repair something. Another examination shows whether it is right
/// now.
enum MendAttempt: Sendable, Hashable {
  /// There was nothing to do, or the level of the repair does not include it.
  case none
  case done
  /// The repair failed, for this reason.
  case failed(String)
}

/// The repair of what a check has found. The suspicions of a call were found with the lock held,
/// and it returns one attempt for each of them.
protocol Mending: Sendable {
  /// Repairs one key. The caller holds `shard`.
  func mend(_ suspicions: [Suspicion], of scene: KeyScene, in shard: borrowing Shard)
    -> [MendAttempt]
  /// Repairs an entry that only the journal has, and whose body there is damaged.
  func mendLogged(_ slot: Slot, _ suspicion: Suspicion) -> MendAttempt
  /// Repairs a name in `directory`, anywhere in the store except in the directory of a key: a
  /// foreign file, or one of a wrong kind, mode or place.
  func mendStray(_ suspicion: Suspicion, _ name: PathName, in directory: Int32)
    -> MendAttempt
  /// Renews the journal if it is not whole, and removes dead sessions. Called after all shards were
  /// repaired. Another check shows what is still wrong.
  ///
  /// - Parameters:
  ///   - journal: the suspicions about the journal.
  ///   - staging: the dead sessions and incomplete files.
  func finish(journal: [Suspicion], staging: [Suspicion]) -> MendAttempt
}
