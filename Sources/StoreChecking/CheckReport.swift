/// The result of a check.
public struct CheckReport: Sendable, Hashable {
  /// The numbers of findings of one kind.
  public struct Count: Sendable, Hashable {
    /// The number of findings.
    public var found: Int
    /// The number of those that were repaired.
    public var repaired: Int
    /// The number of entries that the repairs took out of the store, because nothing could restore
    /// them.
    public var lostEntries: Int

    package init(found: Int = 0, repaired: Int = 0, lostEntries: Int = 0) {
      self.found = found
      self.repaired = repaired
      self.lostEntries = lostEntries
    }
  }

  /// The id of the store, 32 hex digits; `nil` if the store could not be opened.
  public var storeID: String?
  /// The number of entries that were examined.
  public var entries = 0
  /// The number of those whose files have not been written yet: only the journal has them.
  public var unsettled = 0
  /// The number of files and directories that were examined.
  public var files = 0
  /// The bytes of all bodies, shared ones counted once.
  public var bodyBytes: UInt64 = 0
  /// The bytes that were read and verified.
  public var readBytes: UInt64 = 0
  /// The bytes of the journal.
  public var journalBytes: UInt64 = 0
  /// The reason for which the entries could not be compared with the journal; `nil` if they were.
  public var partialCause: String?
  /// The findings by kind.
  public var findings: [FindingKind: Count] = [:]

  /// The number of findings. Notes that no repair can clear do not count
  /// (``FindingFacts/isWrong``).
  public var found: Int { findings.found }
  /// The number of findings that were repaired.
  public var repaired: Int { findings.repaired }
  /// The number of findings that are still wrong.
  public var left: Int { findings.left }
  /// The number of entries that the repairs took out of the store, because nothing could restore
  /// them, or would take (``CheckOptions/forecast``). What was left of them is in the
  /// quarantine.
  public var lostEntries: Int { findings.lostEntries }
}

// Sums of the findings that count as problems: notes that no repair can clear do not.
extension [FindingKind: CheckReport.Count] {
  package var found: Int { sum(\.found) }
  package var repaired: Int { sum(\.repaired) }
  /// The number of findings that are still wrong.
  package var left: Int { found - repaired }
  /// The number of entries that the repairs took out of the store.
  package var lostEntries: Int { sum(\.lostEntries) }

  private func sum(_ count: (CheckReport.Count) -> Int) -> Int {
    reduce(0) { $0 + ($1.key.facts.isWrong ? count($1.value) : 0) }
  }

  package mutating func add(_ finding: Finding) {
    self[finding.kind, default: .init()].found += 1
    if finding.outcome == .repaired {
      addRepair(of: finding)
    } else {
      // A forecast.
      self[finding.kind]?.lostEntries += finding.lostEntries
    }
  }

  /// Counts the repair of a finding that was counted before.
  mutating func addRepair(of finding: Finding) {
    self[finding.kind]?.repaired += 1
    self[finding.kind]?.lostEntries += finding.lostEntries
  }
}

/// The progress of a check.
public struct CheckProgress: Sendable, Hashable {
  /// The number of entries that were checked.
  public var entries: Int
  /// The number of entries in the journal.
  public var totalEntries: Int
  /// The bytes of bodies that were read; 0 for a quick check.
  public var bytes: UInt64
  /// The bytes of all bodies; 0 for a quick check.
  public var totalBytes: UInt64
  /// The shards that were checked, for `CheckOptions.skippedShards`.
  public var shards: Set<UInt8>
}

/// A receiver of the findings and the progress of a check. It is called on the threads of the
/// check, by one at a time.
public protocol CheckObserver: Sendable {
  /// Receives a finding, with the outcome of its repair.
  func found(_ finding: Finding)
  /// Receives the progress.
  func progressed(_ progress: CheckProgress)
}
