import Synchronization

/// Divides the memory for buffers among the running transfers: a few transfers get large buffers,
/// for throughput; a thousand slow readers get small ones.
final class TransferLoad: Sendable {
  /// The limit of libcurl's own buffers together, unless each is at the smallest size.
  private static let readBudget = 1 << 20
  private static let smallestRead = 4 * 1024
  private static let largestRead = 64 * 1024

  /// The limit of all bytes that wait for slow readers, unless each reader has room for just one
  /// piece.
  private static let waitingBudget = 4 << 20

  private let running = Atomic(0)
  private let bufferBytes: Int

  /// Creates a division in which the buffer of a reader has at most `bufferBytes`, or one piece of
  /// libcurl if that is larger.
  init(bufferBytes: Int) {
    self.bufferBytes = bufferBytes
  }

  func add() {
    running.add(1, ordering: .relaxed)
  }

  func remove() {
    running.subtract(1, ordering: .relaxed)
  }

  /// The size of libcurl's read buffer for a transfer that starts now, in bytes.
  var readBytes: Int {
    min(max(share(of: Self.readBudget), Self.smallestRead), Self.largestRead)
  }

  /// The bytes that may wait for one reader now.
  var capacity: Int {
    max(min(share(of: Self.waitingBudget), bufferBytes), 2 * Self.smallestRead)
  }

  private func share(of budget: Int) -> Int {
    budget / max(1, running.load(ordering: .relaxed))
  }
}
