import CacheSystem
import Testing

@Suite struct LockTests {
  @Test func `a lock gives its value to one thread at a time`() throws {
    final class Shared: Sendable {
      let sum = Lock(0)
      let running = Monitor(4)
    }
    let shared = Shared()
    for _ in 0..<4 {
      try startThread {
        for _ in 0..<1_000 { shared.sum.withLock { $0 += 1 } }
        shared.running.change { $0 -= 1 }
      }
    }
    shared.running.wait { $0 == 0 ? () : nil }
    #expect(shared.sum.withLock { $0 } == 4_000)
  }

  @Test func `locks are taken from the outside to the inside, and others are called without one`() {
    let registry = Lock(1, .registry)
    let member = Lock(2, .member)
    let inner = Lock(3)
    let sum = registry.withLock { first in
      member.withLock { second in inner.withLock { first + second + $0 } }
    }
    #expect(sum == 6)
    #expect(inner.withLock { $0 } + registry.withLock { $0 } == 4)
    #expect(callOut { 7 } == 7)
  }

  struct Thrown: Error {}

  @Test func `an error releases the lock`() {
    let lock = Lock(1)
    #expect(throws: Thrown.self) {
      try lock.withLock { _ throws(Thrown) in throw Thrown() }
    }
    #expect(callOut { lock.withLock { $0 } } == 1)
  }

  #if DEBUG
    @Test func `to call code of others under a lock traps`() async {
      await #expect(processExitsWith: .failure) {
        Lock(1).withLock { _ in callOut {} }
      }
      await #expect(processExitsWith: .failure) {
        Monitor(1).change { _ in callOut {} }
      }
    }

    @Test func `to take locks out of order traps`() async {
      await #expect(processExitsWith: .failure) {
        let registry = Lock(2, .registry)
        Monitor(1).change { _ in registry.withLock { _ in } }
      }
      await #expect(processExitsWith: .failure) {
        let lock = Lock(1)
        lock.withLock { _ in Lock(2).withLock { _ in } }
      }
    }
  #endif
}
