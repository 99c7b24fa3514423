import TestSupport
import Testing

@testable import Reachability

@Suite(.timeLimit(.minutes(5))) struct ProbeLoopTests {
  private let free = NetworkState(.free, links: ["eth0"], reason: "eth0")
  private let none = NetworkState(.none, reason: "cut")

  private func loop(_ probe: NetworkProbe, _ state: NetworkState) throws -> (StateBoard, ProbeLoop)
  {
    let board = StateBoard(state, isSettled: false)
    let loop = ProbeLoop(probe, board, state)
    try loop.start()
    return (board, loop)
  }

  /// A probe that a busy machine does not make run out of time.
  private func probe(_ port: UInt16, interval: Duration) -> NetworkProbe {
    NetworkProbe(host: "127.0.0.1", port: port, timeout: .seconds(240), interval: interval)
  }

  @Test func `a connection confirms, and its loss is seen at the next look`() async throws {
    let listener = try LoopbackListener()
    let probe = probe(listener.port, interval: .milliseconds(1))
    let (board, loop) = try loop(probe, free)
    defer { loop.stop() }
    var reader = board.changes().makeAsyncIterator()
    #expect(await reader.next() == free)
    listener.stop()
    let lost = await reader.next()
    #expect(lost?.quality == NetworkQuality.none)
    #expect(lost?.reason.contains("but 127.0.0.1:\(listener.port) gives no answer") == true)
  }

  @Test func `before the first verdict the system's word counts, and readers wait`() async throws {
    let listener = try LoopbackListener()
    listener.stop()
    let probe = NetworkProbe(host: "127.0.0.1", port: listener.port, interval: .seconds(3600))
    let board = StateBoard(free, isSettled: false)
    var reader = board.changes().makeAsyncIterator()
    #expect(board.current == free)
    let loop = ProbeLoop(probe, board, free)
    try loop.start()
    defer { loop.stop() }
    #expect(await reader.next()?.quality == NetworkQuality.none)
    #expect(board.current.quality == .none)
  }

  @Test func `a name that does not resolve is reported as such`() async throws {
    let probe = NetworkProbe(host: "nothing.invalid", port: 80, interval: .seconds(3600))
    let (board, loop) = try loop(probe, free)
    defer { loop.stop() }
    var reader = board.changes().makeAsyncIterator()
    let state = await reader.next()
    #expect(state?.quality == NetworkQuality.none)
    // Where the resolver itself is away, the probe runs out of time.
    let reason = state?.reason ?? ""
    #expect(reason.hasSuffix("does not resolve") || reason.contains("timed out"), "\(reason)")
  }

  @Test func `without a route nobody is asked, and a new route is looked at at once`() async throws
  {
    let listener = try LoopbackListener()
    defer { listener.stop() }
    let probe = probe(listener.port, interval: .seconds(3600))
    let (board, loop) = try loop(probe, none)
    defer { loop.stop() }
    var reader = board.changes().makeAsyncIterator()
    #expect(await reader.next() == none)
    loop.take(free)
    #expect(await reader.next() == free)
    loop.take(none)
    #expect(await reader.next() == none)
  }
}
