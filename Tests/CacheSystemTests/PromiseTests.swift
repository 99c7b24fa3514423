import Testing

@testable import CacheSystem

@Suite(.timeLimit(.minutes(5)))
struct PromiseTests {
  @Test func `all who wait get the value that was set first, and so do those who come later`() async
  {
    let promise = Promise<Int>()
    #expect(promise.valueNow == nil)
    let tasks = (0..<50).map { _ in Task { await promise.value() } }
    await Task.yield()
    promise.settle(1)
    promise.settle(2)
    for task in tasks { #expect(await task.value == 1) }
    #expect(await promise.value() == 1)
    #expect(promise.valueNow == 1)
  }

  @Test func `who is cancelled stops to wait, before and after it has begun`() async {
    let promise = Promise<Int>()
    for number in 0..<1000 {
      let task = Task { await promise.value() }
      if number % 2 == 0 { await Task.yield() }
      task.cancel()
      #expect(await task.value == nil)
    }
    let task = Task { await promise.value() }
    promise.settle(1)
    #expect(await task.value == 1)
  }

  @Test func `value and cancellation at the same time end the wait once`() async {
    for _ in 0..<1000 {
      let promise = Promise<Int>()
      let task = Task { await promise.value() }
      let settling = Task { promise.settle(1) }
      task.cancel()
      let value = await task.value
      #expect(value == nil || value == 1)
      await settling.value
    }
  }
}
