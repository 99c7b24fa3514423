import CacheSystem
import Testing

@Suite struct BargingMutexTests {
  /// Counts under a mutex, and notes whether two threads are ever in there.
  private final class Shared: @unchecked Sendable {
    let mutex = BargingMutex()
    let running = Monitor(4)
    // Unchecked: both are used under the mutex only.
    var sum = 0
    var isInside = false
    var hasMet = false

    func enter() {
      mutex.withLock {
        if isInside { hasMet = true }
        isInside = true
        sum += 1
        isInside = false
      }
    }
  }

  @Test func `one thread at a time is in a closure`() throws {
    let shared = Shared()
    for _ in 0..<4 {
      try startThread {
        for _ in 0..<5_000 { shared.enter() }
        shared.running.change { $0 -= 1 }
      }
    }
    shared.running.wait { $0 == 0 ? () : nil }
    #expect(shared.mutex.withLock { shared.sum } == 20_000)
    #expect(!shared.hasMet)
  }

  private struct Thrown: Error {}

  @Test func `an error releases the mutex, and a result may be one that is not copied`() {
    let mutex = BargingMutex()
    #expect(throws: Thrown.self) {
      try mutex.withLock { () throws(Thrown) in throw Thrown() }
    }
    struct Ticket: ~Copyable { let number: Int }
    let ticket = mutex.withLock { Ticket(number: 7) }
    #expect(ticket.number == 7)
  }

  @Test func `two mutexes do not exclude each other`() {
    let one = BargingMutex()
    let two = BargingMutex()
    #expect(one.withLock { two.withLock { 1 } + 1 } == 2)
    #expect(two.withLock { one.withLock { 3 } } == 3)
  }
}
