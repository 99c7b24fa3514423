import HTTPTransports
import Testing

@testable import URLSessionHTTP

/// Simulated time: no test waits.
@Suite struct SessionLimitsTests {
  private let start = ContinuousClock.now

  private func limits(
    connect: Duration? = .seconds(10), idle: Duration? = .seconds(30), whole: Duration? = nil
  ) -> SessionLimits {
    SessionLimits(
      TransportOptions(connectTimeout: connect, idleTimeout: idle, wholeTimeout: whole), now: start)
  }

  private func isOver(_ limits: inout SessionLimits, after time: Duration) -> Bool {
    (limits.next(now: start + time, isWaitingHere: false)?.left ?? .seconds(1)) <= .zero
  }

  @Test func `before the first sign of the server, both limits are added`() {
    var limits = limits()
    #expect(!isOver(&limits, after: .seconds(39.9)))
    #expect(isOver(&limits, after: .seconds(40)))
    limits.noteSign(now: start + .seconds(40))
    #expect(!isOver(&limits, after: .seconds(69.9)))
    #expect(isOver(&limits, after: .seconds(70)))
  }

  @Test func `the whole time counts, whatever the server does`() {
    var limits = limits(whole: .seconds(60))
    for second in stride(from: 0, to: 60, by: 10) {
      limits.noteSign(now: start + .seconds(second))
      #expect(!isOver(&limits, after: .seconds(second)))
    }
    let next = limits.next(now: start + .seconds(60), isWaitingHere: true)
    #expect(next == SessionLimits.Next(left: .zero, detail: "the whole time is over"))
  }

  @Test(arguments: [Duration.milliseconds(40), .seconds(1), .seconds(30), .seconds(600)])
  func `a task that was suspended for minutes has the whole limit from then on`(idle: Duration) {
    var limits = limits(connect: nil, idle: idle)
    limits.noteSign(now: start)
    var time = Duration.zero
    // It is looked at when it says so.
    while time < .seconds(300) {
      guard let next = limits.next(now: start + time, isWaitingHere: true) else { break }
      #expect(next.left > .zero && next.left <= .seconds(1))
      time += next.left
    }
    // The reader has come back just before this look.
    let next = limits.next(now: start + time, isWaitingHere: false)
    #expect((next?.left ?? .zero) >= idle * 0.87)
    #expect(isOver(&limits, after: time + idle))
  }

  @Test func `a task that waits for a network has only the whole limit`() {
    var limits = limits(whole: .seconds(3600))
    limits.noteWaiting()
    #expect(!isOver(&limits, after: .seconds(3599)))
    #expect(isOver(&limits, after: .seconds(3600)))
  }

  @Test func `without limits there is nothing to look at`() {
    var limits = limits(connect: nil, idle: nil)
    #expect(limits.areNone)
    limits.noteWaiting()
    #expect(limits.next(now: start + .seconds(1_000_000), isWaitingHere: true) == nil)
  }
}
