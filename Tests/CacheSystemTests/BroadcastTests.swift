import CacheSystem
import Testing

@Suite(.timeLimit(.minutes(5))) struct BroadcastTests {
  @Test func `a stream begins with the newest value and ends after the last one`() async {
    let broadcast = Broadcast<Int>()
    var first = broadcast.stream { 1 }.makeAsyncIterator()
    #expect(await first.next() == 1)
    broadcast.tell { 2 }
    broadcast.tell { 3 }
    broadcast.finish { 3 }
    #expect(await first.next() == 3)
    #expect(await first.next() == nil)
    var late = broadcast.stream { 3 }.makeAsyncIterator()
    #expect(await late.next() == 3)
    #expect(await late.next() == nil)
    #expect(broadcast.readerCount == 0)
  }

  @Test func `nothing is told before there is something`() async {
    let broadcast = Broadcast<Int>()
    var reader = broadcast.stream { nil }.makeAsyncIterator()
    broadcast.tell { 1 }
    broadcast.finish { 1 }
    #expect(await reader.next() == 1)
    #expect(await reader.next() == nil)
  }

  /// It began to read between the change of the value and the news of it.
  @Test func `a reader that has the newest value is not told of it again`() async {
    let broadcast = Broadcast<Int>()
    var reader = broadcast.stream { 1 }.makeAsyncIterator()
    #expect(await reader.next() == 1)
    broadcast.tell { 1 }
    broadcast.finish { 1 }
    #expect(await reader.next() == nil)
  }

  @Test func `values of several threads never change places`() async throws {
    let broadcast = Broadcast<Int>()
    let value = Monitor(0)
    let running = Monitor(4)
    for _ in 0..<4 {
      try startThread {
        for _ in 0..<2_000 {
          value.change { $0 += 1 }
          broadcast.tell { value.change { $0 } }
        }
        let isLast = running.change { running in
          running -= 1
          return running == 0
        }
        if isLast { broadcast.finish { value.change { $0 } } }
      }
    }
    var last = -1
    for await value in broadcast.stream({ value.change { $0 } }) {
      #expect(value >= last)
      last = value
    }
    #expect(last == 8_000)
  }
}
