import CacheFormat
import CacheSystem
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(2))) struct UploadQueueTests {
  /// Notes what was run and dropped. Offers wait for the gate.
  private final class Notes: Sendable {
    let gate = Gate()
    let run = Mutex<[String]>([])
    let dropped = Mutex<[String]>([])

    func item(
      _ name: String, _ key: ByteString, variant: UInt64 = 0, bytes: UInt64 = 10
    ) -> UploadQueue.Item {
      UploadQueue.Item(
        key: key, variant: variant, bytes: bytes,
        run: {
          _ = await self.gate.pass()
          self.run.withLock { $0.append(name) }
        }, onDrop: { self.dropped.withLock { $0.append(name) } })
    }
  }

  /// Adds an offer that runs, so that the others wait.
  private func busyQueue(
    _ notes: Notes, maximumCount: Int = 3, maximumBytes: UInt64 = 100
  ) -> UploadQueue {
    let queue = UploadQueue(maximumCount: maximumCount, maximumBytes: maximumBytes, atOnce: 1)
    queue.add(notes.item("running", "running"))
    return queue
  }

  @Test func `an offer that was replaced takes no room`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    queue.add(notes.item("first", "first", bytes: 30))
    for name in ["a", "b", "c"] { queue.add(notes.item(name, "key", bytes: 60)) }
    #expect(queue.counts.waiting == 2 && queue.counts.dropped == 0)
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running", "first", "c"])
  }

  @Test func `offers run in their order, and each is run once`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    for name in ["a", "b", "c"] { queue.add(notes.item(name, ByteString(name))) }
    #expect(queue.counts.waiting == 3)
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running", "a", "b", "c"])
    #expect(queue.counts.waiting == 0 && queue.counts.dropped == 0)
  }

  @Test func `a newer offer of one key and variant takes the place of the older one`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    queue.add(notes.item("old", "k"))
    queue.add(notes.item("other variant", "k", variant: 1))
    queue.add(notes.item("new", "k"))
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running", "other variant", "new"])
    #expect(notes.dropped.withLock { $0 }.isEmpty, "it was replaced, not dropped")
  }

  @Test func `the oldest are dropped when too many wait, those without bytes last`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    queue.add(notes.item("empty", "e", bytes: 0))
    for name in ["a", "b", "c"] { queue.add(notes.item(name, ByteString(name))) }
    #expect(notes.dropped.withLock { $0 } == ["a"])
    for name in ["e2", "e3"] { queue.add(notes.item(name, ByteString(name), bytes: 0)) }
    #expect(notes.dropped.withLock { $0 } == ["a", "b", "c"])
    queue.add(notes.item("e4", "e4", bytes: 0))
    #expect(notes.dropped.withLock { $0 } == ["a", "b", "c", "empty"])
    #expect(queue.counts.dropped == 4)
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running", "e2", "e3", "e4"])
  }

  @Test func `the oldest are dropped when too many bytes wait, the newest never`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    queue.add(notes.item("a", "a", bytes: 60))
    queue.add(notes.item("b", "b", bytes: 40))
    queue.add(notes.item("empty", "e", bytes: 0))
    #expect(notes.dropped.withLock { $0 }.isEmpty)
    queue.add(notes.item("c", "c", bytes: 1_000))
    #expect(notes.dropped.withLock { $0 } == ["a"], "a long body takes half of the room")
    queue.add(notes.item("d", "d", bytes: 1_000))
    #expect(notes.dropped.withLock { $0 } == ["a", "b"])
    queue.add(notes.item("e", "f", bytes: 1))
    #expect(notes.dropped.withLock { $0 } == ["a", "b", "c"])
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running", "empty", "d", "e"])
  }

  /// Calls the queue when it is released.
  private final class Caller: Sendable {
    private let queue: UploadQueue
    private let onRelease: @Sendable () -> Void

    init(_ queue: UploadQueue, _ onRelease: @escaping @Sendable () -> Void) {
      (self.queue, self.onRelease) = (queue, onRelease)
    }

    deinit {
      _ = queue.counts
      onRelease()
    }
  }

  @Test func `offers that are replaced, or end with the queue, are released without the lock`()
    async
  {
    let notes = Notes()
    let queue = busyQueue(notes)
    let released = Mutex(0)
    for _ in 1...2 {
      let caller = Caller(queue) { released.withLock { $0 += 1 } }
      queue.add(UploadQueue.Item(key: "k", variant: 0, bytes: 1) { _ = caller })
    }
    #expect(released.withLock { $0 } == 1)
    queue.close()
    #expect(released.withLock { $0 } == 2)
    notes.gate.open()
    await queue.drain()
  }

  @Test func `two offers of one key never run at once`() async {
    let notes = Notes()
    let now = Mutex<(running: Set<ByteString>, isTwice: Bool)>(([], false))
    let queue = UploadQueue(maximumCount: 1_000, maximumBytes: .max, atOnce: 4)
    for number in 0..<200 {
      let key = ByteString("k\(number % 3)")
      queue.add(
        UploadQueue.Item(
          key: key, variant: UInt64(number), bytes: 1,
          run: {
            now.withLock { if !$0.running.insert(key).inserted { $0.isTwice = true } }
            await Task.yield()
            now.withLock { _ = $0.running.remove(key) }
            notes.run.withLock { $0.append("x") }
          }))
    }
    await queue.drain()
    #expect(notes.run.withLock { $0.count } == 200)
    #expect(!now.withLock { $0.isTwice })
  }

  @Test func `a queue that is closed takes nothing more, and what waits is dropped`() async {
    let notes = Notes()
    let queue = busyQueue(notes)
    queue.add(notes.item("a", "a"))
    queue.close()
    queue.add(notes.item("b", "b"))
    #expect(queue.counts.waiting == 0 && queue.counts.dropped == 1)
    notes.gate.open()
    await queue.drain()
    #expect(notes.run.withLock { $0 } == ["running"])
  }
}
