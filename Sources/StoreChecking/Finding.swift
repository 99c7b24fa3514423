/// One thing that is wrong with a store.
public struct Finding: Sendable, Hashable {
  /// What became of it.
  public enum Outcome: Sendable, Hashable {
    /// Nothing was to be done, or the level of repair does not reach it.
    case left
    /// It is right now: looked at again after the repair.
    case repaired
    /// A repair was tried and did not do, for this reason.
    case failed(String)
  }

  /// What is wrong.
  public var kind: FindingKind
  /// The path below the store, bytes as they are; empty for the store itself.
  public var path: [UInt8]
  /// The key of the entry, where one is known.
  public var key: [UInt8]?
  /// What was found there, in a few words with the numbers: "700 bytes, should be 5,000".
  public var detail: String
  /// What became of it.
  public var outcome: Outcome

  /// Creates a finding.
  package init(
    _ kind: FindingKind, path: [UInt8], key: [UInt8]? = nil, detail: String,
    outcome: Outcome = .left
  ) {
    self.kind = kind
    self.path = path
    self.key = key
    self.detail = detail
    self.outcome = outcome
  }
}
