import CacheSystem
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2))) struct DownloadSlotsTests {
  @Test func `limits hold, in all and for each host, and higher priorities come first`() async {
    let slots = DownloadSlots(limit: 3, perHost: 2)
    for host in ["a", "a", "b"] { #expect(await slots.acquire(host, priority: 0)) }
    let order = Monitor<[String]>([])
    func wait(_ host: String, _ priority: Int, _ name: String) -> Task<Bool, Never> {
      // The order of the waiting is what is tested: each waits when this call returns.
      Task.immediate {
        let isMine = await slots.acquire(host, priority: priority)
        if isMine { order.change { $0.append(name) } }
        return isMine
      }
    }
    let tasks = [wait("a", 0, "a1"), wait("b", 0, "b1"), wait("a", 5, "a2"), wait("c", -1, "c1")]
    let cancelled = wait("b", 9, "b2")
    cancelled.cancel()
    #expect(await cancelled.value == false)
    slots.release("b")
    _ = await tasks[1].value
    slots.release("a")
    _ = await tasks[2].value
    slots.release("a")
    _ = await tasks[0].value
    slots.release("b")
    _ = await tasks[3].value
    #expect(order.wait { $0 } == ["b1", "a2", "a1", "c1"])
  }

  @Test func `equal priorities wait in the order of their start`() async {
    let slots = DownloadSlots(limit: 1, perHost: 1)
    #expect(await slots.acquire("a", priority: 0))
    let order = Monitor<[Int]>([])
    let tasks = (0..<4).map { number in
      Task.immediate {
        #expect(await slots.acquire("a", priority: 0))
        order.change { $0.append(number) }
        slots.release("a")
      }
    }
    slots.release("a")
    for task in tasks { await task.value }
    #expect(order.wait { $0 } == [0, 1, 2, 3])
    #expect(!slots.isBusy)
  }

  @Test func `who was cancelled before does not wait, nor gets a turn`() async {
    let slots = DownloadSlots(limit: 1, perHost: 1)
    for isBusy in [false, true] {
      if isBusy { #expect(await slots.acquire("a", priority: 0)) }
      let task = Task {
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
        return await slots.acquire("a", priority: 0)
      }
      #expect(await task.value == false)
      #expect(slots.isBusy == isBusy)
    }
  }

  @Test func `a host at its limit waits, although others may begin`() async {
    let slots = DownloadSlots(limit: 3, perHost: 1)
    #expect(await slots.acquire("a", priority: 0))
    let second = Task.immediate { await slots.acquire("a", priority: 0) }
    second.cancel()
    #expect(await second.value == false)
    #expect(await slots.acquire("b", priority: 0))
  }
}
