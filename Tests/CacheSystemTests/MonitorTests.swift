import CacheSystem
import Testing

@Suite struct MonitorTests {
  @Test func `a thread that waits is woken by the change it waits for`() throws {
    let monitor = Monitor((asked: 0, answered: 0))
    try startThread {
      for round in 1...100 {
        monitor.wait { $0.asked >= round ? () : nil }
        monitor.change { $0.answered = round }
      }
    }
    for round in 1...100 {
      monitor.change { $0.asked = round }
      #expect(monitor.wait { $0.answered >= round ? $0.answered : nil } == round)
    }
  }

  @Test func `no change is lost between threads`() throws {
    let monitor = Monitor((sum: 0, running: 4))
    for _ in 0..<4 {
      try startThread {
        for _ in 0..<1_000 { monitor.change { $0.sum += 1 } }
        monitor.change { $0.running -= 1 }
      }
    }
    monitor.wait { $0.running == 0 ? () : nil }
    #expect(monitor.wait { $0.sum } == 4_000)
  }

  @Test func `waiting for a time ends with nothing, or at once with what is there`() {
    let monitor = Monitor(7)
    #expect(monitor.wait(nanoseconds: 1_000) { _ -> Int? in nil } == nil)
    #expect(monitor.wait(nanoseconds: .max / 4) { $0 } == 7)
    #expect(monitor.wait(nanoseconds: -5) { _ -> Int? in nil } == nil)
  }

  @Test func `a wait without a change lasts as long as it says on a monotonic clock`() {
    let start = SuspendingClock.now
    #expect(Monitor(()).wait(nanoseconds: 2_000_000) { _ -> Void? in nil } == nil)
    #expect(SuspendingClock.now - start >= .milliseconds(2))
  }

  @Test func `a waiting thread may change the state`() {
    let monitor = Monitor([3, 2, 1])
    #expect(monitor.wait { $0.popLast() } == 1)
    #expect(monitor.wait { $0 } == [3, 2])
  }

  @Test func `running threads have numbers of their own`() throws {
    let monitor = Monitor<Set<UInt64>>([threadNumber()])
    for _ in 0..<3 {
      try startThread {
        monitor.change { _ = $0.insert(threadNumber()) }
        monitor.wait { $0.count == 4 ? () : nil }
      }
    }
    #expect(monitor.wait { $0.count == 4 ? $0.count : nil } == 4)
    #expect(threadNumber() == threadNumber())
  }
}
