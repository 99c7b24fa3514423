import CacheSystem
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

/// A cancelled task runs its handlers, which take the lock of the exchange, while it keeps others from
/// resuming it. So nobody may resume it with that lock held.
@Suite("The lock of an exchange", .timeLimit(.minutes(5))) struct ExchangeTests {
  @Test func `is free when the task that sends a body is resumed by the next piece`() async {
    await resume { exchange in
      unsafe withUnsafeBytes(of: UInt8(7)) { piece in unsafe _ = exchange.take(piece) }
    }
  }

  @Test func `is free when the task that sends a body is resumed by the end of the request`() async
  {
    await resume { $0.abort() }
  }

  /// Resumes a task that waits for a piece of the body, and looks at the lock in the same moment.
  private func resume(_ act: (Exchange) -> Void) async {
    let exchange = makeExchange()
    let probe = LockProbe(exchange)
    let task = Task(executorPreference: probe) { _ = try? await exchange.next() }
    await eventually { exchange.state.withLock { $0.upload.reader != nil } }
    act(exchange)
    await task.value
    #expect(probe.wasHeld.change { $0 } == false)
  }
}

/// Runs a task, and finds out whether who resumes it holds the lock of an exchange.
private final class LockProbe: TaskExecutor {
  let wasHeld = Monitor(false)
  private let exchange: Exchange

  init(_ exchange: Exchange) { self.exchange = exchange }

  /// Called on the thread that resumes.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isFree = Monitor(false)
    try? startThread { [exchange] in
      exchange.state.withLock { _ in }
      isFree.change { $0 = true }
    }
    // Only bounds how long a lock that is held takes to be told.
    let isMine = isFree.wait(nanoseconds: 300_000_000_000) { $0 ? true : nil }
    if isMine == nil { wasHeld.change { $0 = true } }
    try? startThread { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

/// Makes an exchange whose connection is never touched: nothing here suspends it.
private func makeExchange() -> Exchange {
  let core = ProxyCore(
    backend: ScriptedBackend(), router: TargetRouter(origin: nil), identity: ProxyIdentity(),
    pages: nil, observers: [], clock: TestClock())
  // Safety: the pointer is never followed.
  guard let nobody = unsafe OpaquePointer(bitPattern: 1) else { preconditionFailure() }
  return unsafe Exchange(core: core, connection: ClientConnection(nobody), target: [], place: 0)
}
