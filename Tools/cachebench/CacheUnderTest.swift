enum SystemName: String, CaseIterable, Sendable {
  case store
  case floor
  case log
  case dictionary
  case sqlite
  case sqliteTuned = "sqlite-tuned"
  case urlcache

  /// How many operations run in one go before the next system has its turn.
  ///
  /// Slow systems get shorter turns, so that all of them share the same weather.
  var sliceLength: Int {
    switch self {
    case .store, .floor, .log, .dictionary, .sqliteTuned: 500
    case .sqlite: 50
    case .urlcache: 5
    }
  }

  /// Seconds that one workload may spend on this system; nil when it runs every operation.
  var secondsAllowed: Double? {
    switch self {
    case .store, .floor, .log, .dictionary, .sqliteTuned: nil
    case .sqlite: 20
    case .urlcache: 15
    }
  }

  /// Tells whether a workload on filled caches says anything of the system.
  func takesPart(in work: Workload) -> Bool {
    switch self {
    case .log: ![.miss, .hitMemory].contains(work)
    case .dictionary: [.miss, .hitMemory].contains(work)
    case .urlcache: work != .hitMemory
    default: true
    }
  }

  /// Tells whether the system waits for the disk, and so would pay for what others left unwritten.
  var waitsForDisk: Bool { self == .sqlite || self == .sqliteTuned }

  /// The most entries it is filled with; nil when there is no limit.
  ///
  /// URLCache on Linux scans its folder on every store: at 1,000 entries one takes 60 ms, at
  /// 20,000 a second. It is measured where it still moves, which flatters it.
  var entryLimit: Int? { self == .urlcache ? 400 : nil }
}

/// One cache that is measured: a handle that one thread uses at a time.
///
/// Values and keys are made ready outside the measured time, in the form each system likes best.
protocol CacheUnderTest: AnyObject {
  /// What is stored, ready to be handed over.
  associatedtype Value
  /// What is looked up, ready to be handed over.
  associatedtype Key

  var name: SystemName { get }

  func makeValue(_ entry: EntryID) throws -> Value
  func makeKey(_ entry: EntryID) -> Key

  /// Stores a response under a key that is new.
  func store(_ value: Value) throws
  /// Stores a response in place of the previous generation of the same entry.
  func replace(_ value: Value) throws
  /// Reads a response whole and records the access; returns false when there is none.
  func hit(_ key: Key) throws -> Bool
  /// Looks up what is not there; returns false when something was found.
  func miss(_ key: Key) throws -> Bool
  /// Tells whether the body that `hit` read last is this one.
  func lastBodyEquals(_ body: [UInt8]) -> Bool

  /// Prepares for storing many entries that are not measured.
  func beginBulk() throws
  func endBulk() throws
  /// Waits for work that the operations left to the background; it counts as theirs.
  func settle() throws
  /// Returns a handle on the same cache for another thread.
  func sibling() throws -> any CacheUnderTest
  func close()
}

extension CacheUnderTest {
  func replace(_ value: Value) throws { try store(value) }
  func beginBulk() throws {}
  func endBulk() throws {}
  func settle() {}
}
