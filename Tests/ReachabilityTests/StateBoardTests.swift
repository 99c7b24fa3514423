import CacheSystem
import Synchronization
import TestSupport
import Testing

@testable import Reachability

@Suite(.timeLimit(.minutes(5))) struct StateBoardTests {
  @Test func `each reader gets the present state and then the newest`() async {
    let manual = ManualReachability(.none)
    var first = manual.changes().makeAsyncIterator()
    #expect(await first.next()?.quality == NetworkQuality.none)
    manual.set(.constrained)
    var second = manual.changes().makeAsyncIterator()
    #expect(await second.next()?.quality == .constrained)
    // The first reader was slow: it misses what is over.
    manual.set(.free)
    #expect(await first.next()?.quality == .free)
    #expect(await second.next()?.quality == .free)
    #expect(manual.current.quality == .free)
  }

  @Test func `the same state is reported once`() async {
    let board = StateBoard(NetworkState(.free, reason: "a"))
    var reader = board.changes().makeAsyncIterator()
    _ = await reader.next()
    board.publish(NetworkState(.free, reason: "a"))
    board.publish(NetworkState(.free, reason: "b"))
    board.finish()
    #expect(await reader.next()?.reason == "b")
    #expect(await reader.next() == nil)
  }

  @Test func `sequences end with whoever tells, and late readers get the last state`() async {
    // Nobody keeps the one that tells.
    let stream = ManualReachability(.free).changes()
    var count = 0
    for await _ in stream { count += 1 }
    #expect(count == 1)

    let board = StateBoard(NetworkState(.none, reason: "a"))
    board.finish()
    var late: [NetworkState] = []
    for await state in board.changes() { late.append(state) }
    #expect(late.map(\.reason) == ["a"])
  }

  @Test func `a reader that has left is forgotten`() async {
    let board = StateBoard(NetworkState(.none, reason: "a"))
    let task = Task {
      for await _ in board.changes() {}
    }
    await eventually { board.readerCount > 0 }
    task.cancel()
    await task.value
    await eventually { board.readerCount == 0 }
  }

  @Test func `a reader may be cancelled while a state is sent`() throws {
    let board = StateBoard(NetworkState(.none, reason: "a"))
    let running = Monitor(2)
    try startThread {
      for number in 0..<20_000 { board.publish(NetworkState(.free, reason: "\(number)")) }
      running.change { $0 -= 1 }
    }
    try startThread {
      for _ in 0..<200 {
        let task = Task { for await _ in board.changes() {} }
        while board.readerCount == 0 { pause(nanoseconds: 1_000) }
        task.cancel()
        while board.readerCount > 0 { pause(nanoseconds: 1_000) }
      }
      running.change { $0 -= 1 }
    }
    // Only bounds how long a deadlock takes to be told.
    let isOver = running.wait(nanoseconds: 300_000_000_000) { $0 == 0 ? true : nil }
    #expect(isOver == true, "both threads wait for each other")
  }

  @Test func `many readers see the last of many states`() async {
    let manual = ManualReachability(.none)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 {
        group.addTask {
          for await state in manual.changes() where state.reason == "last" { return true }
          return false
        }
      }
      for number in 0..<1000 { manual.set(NetworkState(.free, reason: "\(number)")) }
      manual.set(NetworkState(.free, reason: "last"))
      for await found in group { #expect(found) }
    }
  }
}
