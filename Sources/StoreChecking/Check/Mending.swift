internal import CacheStore
internal import CacheSystem

/// What became of the attempt to mend something. Whether it is right then is seen by looking again.
enum MendAttempt: Sendable, Hashable {
  /// Nothing was to be done, or the level does not reach it.
  case none
  case done
  /// It did not do, for this reason.
  case failed(String)
}

/// Mends what a check has found. Each call gets what was seen with the lock held, and gives one
/// attempt for each suspicion.
protocol Mending: Sendable {
  /// Mends one key; the caller holds `shard`.
  func mend(_ suspicions: [Suspicion], of scene: KeyScene, in shard: borrowing Shard)
    -> [MendAttempt]
  /// Mends what stands in `directory` under `name` and is no part of a key's directory: foreign files
  /// and what is of a wrong kind, mode or place, anywhere in the store.
  func mendStray(_ suspicion: Suspicion, _ name: PathName, in directory: Int32)
    -> MendAttempt
  /// Once every shard has been taken up: renews the journal where it is not whole (`journal`: what is
  /// wrong with it), and removes what dead sessions left. What has gone is seen by looking again.
  func finish(journal: [Suspicion], staging: [Suspicion]) -> MendAttempt
}
