/// What a check has seen and done.
public struct CheckReport: Sendable, Hashable {
  /// What was found of one kind.
  public struct Count: Sendable, Hashable {
    /// How many were found.
    public var found: Int
    /// How many of them were repaired.
    public var repaired: Int

    /// Creates a count.
    package init(found: Int = 0, repaired: Int = 0) {
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
  /// The entries that were checked.
  public var entries: Int
  /// The entries that the journal lists.
  public var totalEntries: Int
  /// The bytes of the bodies that were read; 0 for a quick check.
  public var bytes: UInt64
  /// The bytes of all bodies; 0 for a quick check.
  public var totalBytes: UInt64
  /// The shards that are done, for `CheckOptions.skippedShards`.
  public var shards: Set<UInt8>
}

/// Receives the findings and the progress of a check. Called on the threads of the check, never by two
/// at the same time.
public protocol CheckObserver: Sendable {
  /// Receives a finding, with what the repair made of it.
  func found(_ finding: Finding)
  /// Receives the progress.
  func progressed(_ progress: CheckProgress)
}
