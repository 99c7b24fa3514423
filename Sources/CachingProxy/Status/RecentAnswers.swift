internal import CacheSystem
internal import Synchronization

/// The last answers, the newest first.
///
/// They lie on shelves, one for each thread as far as there are enough: an answer is then released
/// by the thread that made it. With glibc, memory that another thread has allocated is released
/// under a lock of that thread; on one shelf for all, that took more processor time than anything
/// else of an answer.
final class RecentAnswers: Sendable {
  private static let shelfBits = 4

  private struct Ring {
    var answers: [(number: UInt64, answer: RecentAnswer)?]
    var next = 0
  }

  private final class Shelf: Sendable {
    let ring: Lock<Ring>
    init(count: Int) { ring = Lock(Ring(answers: Array(repeating: nil, count: count))) }
  }

  private let count: Int
  private let shelves: [Shelf]
  private let added = Atomic<UInt64>(0)

  /// - Parameter count: The number of answers that are kept.
  init(count: Int) {
    self.count = count
    shelves = (0..<1 << Self.shelfBits).map { _ in Shelf(count: count) }
  }

  func add(_ answer: RecentAnswer) {
    let number = added.wrappingAdd(1, ordering: .relaxed).newValue
    // Threads differ in the upper bits of the product.
    let hash = threadNumber() &* 0x9E37_79B9_7F4A_7C15
    let shelf = shelves[Int(hash >> (64 - Self.shelfBits))]
    // The replaced element is released after the lock.
    let oldest = shelf.ring.withLock { ring -> (UInt64, RecentAnswer)? in
      var element: (number: UInt64, answer: RecentAnswer)? = (number, answer)
      swap(&ring.answers[ring.next], &element)
      ring.next = (ring.next + 1) % ring.answers.count
      return element
    }
    _ = consume oldest
  }

  func newest() -> [RecentAnswer] {
    shelves.flatMap { shelf in shelf.ring.withLock { $0.answers.compactMap { $0 } } }
      .sorted { $0.number > $1.number }
      .prefix(count).map(\.answer)
  }
}
