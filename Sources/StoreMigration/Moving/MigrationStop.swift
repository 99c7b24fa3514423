internal import Synchronization

/// Asks a migration to end; from any thread.
public final class MigrationStop: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Makes one that asks nothing yet.
  public init() {}

  /// Asks.
  public func request() { flag.store(true, ordering: .relaxed) }

  /// Whether it was asked.
  var isRequested: Bool { flag.load(ordering: .relaxed) }
}
