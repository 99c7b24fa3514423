/// What a check has seen and done.
public struct CheckReport: Sendable, Hashable {
  /// What was found of one kind.
  public struct Count: Sendable, Hashable {
    public var found: Int
    public var repaired: Int

    /// Creates a count.
    public init(found: Int = 0, repaired: Int = 0) {
      self.found = found
      self.repaired = repaired
    }
  }

  /// The id of the store, 32 hex digits; nil where store.json could not be read or restored.
  public var storeID: String?
  /// The entries that were looked at.
  public var entries = 0
  /// The files and directories that were looked at.
  public var files = 0
  /// The bytes of all bodies, shared ones counted once.
  public var bodyBytes: UInt64 = 0
  /// The bytes that were read and verified.
  public var readBytes: UInt64 = 0
  /// The bytes of the journal.
  public var journalBytes: UInt64 = 0
  /// Whether the entries could not be held against the journal, and why.
  public var partialCause: String?
  /// What was found, by kind.
  public var findings: [FindingKind: Count] = [:]

  /// What was wrong. Notes that no repair clears do not count (``FindingFacts/isWrong``).
  public var found: Int { sum(\.found) }
  /// What was repaired of it.
  public var repaired: Int { sum(\.repaired) }
  /// What is still wrong.
  public var left: Int { found - repaired }

  private func sum(_ count: (Count) -> Int) -> Int {
    findings.reduce(0) { $0 + ($1.key.facts.isWrong ? count($1.value) : 0) }
  }
}

/// How far a check is.
public struct CheckProgress: Sendable, Hashable {
  /// The entries done, and those that there are by the journal.
  public var entries: Int
  public var totalEntries: Int
  /// The bytes of bodies done, and those of all (0 where no body is read).
  public var bytes: UInt64
  public var totalBytes: UInt64
  /// The shards that are done, for `CheckOptions.skippedShards`.
  public var shards: Set<UInt8>
}

/// Hears of findings and of the progress, on the threads of the check, one call at a time.
public protocol CheckObserver: Sendable {
  func found(_ finding: Finding)
  func progressed(_ progress: CheckProgress)
}
