import CacheSystem
import Testing

@Suite("A pool of workers", .timeLimit(.minutes(5))) struct WorkerPoolTests {
  /// Takes a lock when it ends, as objects of callers do.
  private final class Caller: Sendable {
    private let ends: Lock<Void>
    init() { ends = Lock(()) }
    deinit { ends.withLock { _ in } }
    func work() {}
  }

  @Test func `holds no lock when a job ends with what it alone has`() async {
    let pool = WorkerPool(threads: 1)
    let isBegun = Monitor(false)
    // All wait behind the first one, so that several stand in the queue.
    pool.run { isBegun.wait { $0 ? () : nil } }
    for _ in 0..<3 {
      let caller = Caller()
      pool.run { caller.work() }
    }
    isBegun.change { $0 = true }
    let order = await pool.call { 1 }
    #expect(order == 1)
  }

  @Test func `a task that was suspended continues on its threads`() async {
    let pool = WorkerPool(threads: 1)
    let only = await pool.call { threadNumber() }
    let (gate, thread) = (Promise<Void>(), Promise<UInt64>())
    pool.start {
      _ = await gate.value()
      thread.settle(threadNumber())
    }
    gate.settle(())
    #expect(await thread.value() == only)
  }

  @Test func `each job is done`() {
    let pool = WorkerPool(threads: 3)
    let jobs = Monitor((done: 0, sum: 0))
    for number in 1...500 {
      pool.run { jobs.change { $0 = ($0.done + 1, $0.sum + number) } }
    }
    #expect(jobs.wait { $0.done == 500 ? $0.sum : nil } == 125_250)
  }
}
