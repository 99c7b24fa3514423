import Synchronization

/// Divides the memory for buffers among the transfers that run: a few get large buffers, for
/// throughput; a thousand slow readers get small ones.
final class TransferLoad: Sendable {
  /// What libcurl's own buffers may take together, as long as none is smaller than the smallest.
  private static let readBudget = 1 << 20
  private static let smallestRead = 4 * 1024
  private static let largestRead = 64 * 1024

  /// What waits for slow readers may take together, as long as each has room for one piece.
  private static let waitingBudget = 4 << 20

  private let running = Atomic(0)
  private let bufferBytes: Int

  /// Makes a division in which no reader's buffer holds more than this many bytes, or one piece of
  /// libcurl's if that is larger.
  init(bufferBytes: Int) {
    self.bufferBytes = bufferBytes
  }

  func add() {
    running.add(1, ordering: .relaxed)
  }

  func remove() {
    running.subtract(1, ordering: .relaxed)
  }

  /// Gives what libcurl shall read at once for a transfer that starts now, in bytes.
  var readBytes: Int {
    Self.share(Self.readBudget, running.load(ordering: .relaxed))
      .clamped(Self.smallestRead, Self.largestRead)
  }

  /// Gives how much may wait for a reader now, in bytes.
  var capacity: Int {
    let share = Self.share(Self.waitingBudget, running.load(ordering: .relaxed))
    return max(min(share, bufferBytes), 2 * Self.smallestRead)
  }

  private static func share(_ budget: Int, _ running: Int) -> Int {
    budget / max(1, running)
  }
}

extension Int {
  fileprivate func clamped(_ low: Int, _ high: Int) -> Int {
    Swift.min(Swift.max(self, low), high)
  }
}
