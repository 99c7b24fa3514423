internal import CacheFormat
internal import CacheSystem

/// How far each shard was compared with a whole journal after a crash.
struct ComparedShards: Equatable {
  /// The state of a shard, in the order in which a comparison reaches them.
  enum State: UInt8, Comparable {
    case unknown
    /// No file in it proves that records are lost. Some keys differ.
    case searched
    /// Its keys are as the journal has them.
    case equal
    /// Its entries have their bodies, too.
    case complete

    static func < (left: State, right: State) -> Bool { left.rawValue < right.rawValue }
  }

  private var states = [State](repeating: .unknown, count: Layout.shardCount)

  /// Creates the beginning of a comparison.
  init() {}

  /// Reads the bytes of a file; `nil` if they are none.
  init?(_ bytes: some Collection<UInt8>) {
    let states = bytes.compactMap(State.init)
    guard states.count == Layout.shardCount, bytes.count == states.count else { return nil }
    self.states = states
  }

  var bytes: [UInt8] { states.map(\.rawValue) }

  subscript(_ shard: Int) -> State {
    get { states[shard] }
    set { states[shard] = newValue }
  }

  /// Returns what two sets of killed processes leave of a comparison.
  func least(_ other: ComparedShards) -> ComparedShards {
    var least = self
    for shard in 0..<Layout.shardCount { least[shard] = min(self[shard], other[shard]) }
    return least
  }
}

// How far tree and journal were compared after a crash. Each short-lived program compares for a second,
// and the next one continues. A session that shows the crash has a file `compared`; a process that is
// killed later leaves a session without one, so all shards are compared again.
extension Staging {
  private static let compared = PathName("compared")
  /// An empty file in a session whose process has closed the store, and was not killed.
  static let closed = PathName("closed")

  /// Returns whether a file in a session is for a later comparison.
  static func isNote(_ name: PathName) -> Bool {
    name.bytes == compared.bytes || name.bytes == closed.bytes
  }

  /// Returns how far the shards were compared since all these sessions were left, and in this run of the
  /// machine.
  func comparedShards(since dead: [PathName]) -> ComparedShards {
    let found = dead.map { comparedShards(in: $0) ?? ComparedShards() }
    return found.dropFirst().reduce(found.first ?? ComparedShards()) { $0.least($1) }
  }

  private func comparedShards(in session: PathName) -> ComparedShards? {
    guard let directory = try? openSession(session),
      let bytes = try? fileSystem.readFile(
        Self.compared, in: directory, limit: bootBytes.count + Layout.shardCount),
      boot != 0, bytes.starts(with: bootBytes)
    else { return nil }
    return ComparedShards(bytes.dropFirst(bootBytes.count))
  }

  /// Notes how far the shards were compared. If that fails, they are compared again.
  func noteCompared(_ shards: ComparedShards, since dead: [PathName]) {
    for session in dead {
      guard let directory = try? openSession(session) else { continue }
      try? fileSystem.removeFile(Self.compared, in: directory.raw)
      try? fileSystem.writeNew(Self.compared, in: directory, bootBytes + shards.bytes)
    }
  }

  /// The run of the machine; zeros if it is not known.
  var bootBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: boot >> (8 * $0)) } }
}
