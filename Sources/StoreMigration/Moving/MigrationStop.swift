internal import Synchronization

/// A request to end a migration; it can be made on any thread.
public final class MigrationStop: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Creates an object without a request.
  public init() {}

  /// Requests the end.
  public func request() { flag.store(true, ordering: .relaxed) }

  var isRequested: Bool { flag.load(ordering: .relaxed) }
}
