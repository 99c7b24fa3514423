import CacheSystem
import CommandLineTools
import StoreChecking

/// The file with the state of an interrupted check, and the store it belongs to.
struct ResumePoint: Sendable {
  let storeID: String
  let file: StateFile

  /// The age, in nanoseconds, from which a state is not used: too much may have changed in the
  /// store.
  private static let maximumAge: Int64 = 7 * 86_400 * 1_000_000_000

  /// Finds the state file for a store and a kind of check.
  ///
  /// - Throws: `StateFile.Problem` if the id of the store cannot be read, or there is no folder for
  ///   the file.
  init(store path: String, _ request: CheckRequest) throws(StateFile.Problem) {
    storeID = try StateFile.storeID(path)
    file = try StateFile(named: "fsck-\(storeID)-\(request.depth.rawValue)")
  }

  /// Reads the state of an earlier run.
  ///
  /// - Returns: The state, or `nil` if there is none.
  /// - Throws: `StateFile.Problem` with the reason if the state cannot be used.
  func state(
    for request: CheckRequest, store path: String, now: Int64
  ) throws(StateFile.Problem) -> ResumeState? {
    guard let bytes = try file.load(limit: ResumeState.maximumBytes) else { return nil }
    func refuse(_ reason: String) -> StateFile.Problem {
      StateFile.Problem(text: "\(file.path) \(reason)")
    }
    guard let state = ResumeState(decoding: bytes) else {
      throw refuse("is not as cachefsck writes it")
    }
    guard state.storeID == storeID, state.depth == request.depth else {
      throw refuse("is of another store or another kind of check")
    }
    guard state.saved <= now, now - state.saved < Self.maximumAge else {
      throw refuse("is more than a week old, or from the future")
    }
    guard state.saved >= Self.lastRebuilt(path) else {
      throw refuse("is older than the journal or store.json")
    }
    return state
  }

  /// Returns the time when store.json was last written, or a segment of the journal was last
  /// created or removed.
  private static func lastRebuilt(_ path: String) -> Int64 {
    let files = RealFileSystem()
    guard let root = try? files.open(userPath: path, [.read, .directory]) else { return .max }
    let number = root.raw
    let times = [PathName("store.json"), PathName("journal")].map { name in
      (try? files.status(at: name, in: number))?.modified ?? .max
    }
    return times.max() ?? .max
  }
}
