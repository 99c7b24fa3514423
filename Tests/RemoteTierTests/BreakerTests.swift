import TestSupport
import Testing

@testable import RemoteTier

/// A breaker that `#expect` may change. Results are those of the last request that was admitted.
private final class Switch {
  private var breaker = Breaker()
  private(set) var round: UInt64 = 0
  var state: Breaker.State { breaker.state }
  func admit(at now: Int64) -> Bool {
    guard let round = breaker.admit(at: now) else { return false }
    self.round = round
    return true
  }
  func record(isFailure: Bool, of round: UInt64? = nil, at now: Int64) {
    breaker.record(isFailure: isFailure, of: round ?? self.round, at: now)
  }
  func forget(_ round: UInt64? = nil, at now: Int64) {
    breaker.forget(round ?? self.round, at: now)
  }
}

struct BreakerTests {
  private static let second: Int64 = 1_000_000_000

  @Test("three failures in a row open it for 1, 2, 4 ... 60 s, and one probe decides")
  func failuresInRow() {
    let breaker = Switch()
    var now: Int64 = 5
    for _ in 0..<3 {
      #expect(breaker.admit(at: now))
      breaker.record(isFailure: true, at: now)
    }
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
      #expect(!breaker.admit(at: now + wait * Self.second - 1))
      now += wait * Self.second
      #expect(breaker.admit(at: now), "\(wait)")
      #expect(!breaker.admit(at: now), "there is one probe")
      breaker.record(isFailure: true, at: now)
    }
    now += 60 * Self.second
    #expect(breaker.admit(at: now))
    breaker.record(isFailure: false, at: now)
    #expect(breaker.state == .closed)
    breaker.record(isFailure: true, at: now)
    #expect(breaker.admit(at: now))
  }

  @Test("it is open twice as long each time, until twenty results were good")
  func failuresAfterProbe() {
    for (good, wait) in [(19, 2 * Self.second), (20, Self.second)] {
      let breaker = Switch()
      for _ in 0..<3 { breaker.record(isFailure: true, at: 0) }
      #expect(breaker.admit(at: Self.second))
      breaker.record(isFailure: false, at: Self.second)
      for _ in 0..<good { breaker.record(isFailure: false, at: Self.second) }
      for _ in 0..<3 { breaker.record(isFailure: true, at: Self.second) }
      #expect(!breaker.admit(at: Self.second + wait - 1))
      #expect(breaker.admit(at: Self.second + wait))
    }
  }

  @Test("six failures among the last twenty results open it, five do not")
  func failuresInWindow() {
    for failures in [5, 6] {
      let breaker = Switch()
      for index in 0..<20 where breaker.admit(at: 0) {
        breaker.record(isFailure: index % 3 == 1 && index < failures * 3, at: 0)
      }
      #expect(breaker.admit(at: 0) == (failures == 5))
    }
  }

  @Test("a probe that is cancelled or never ends does not keep it open for ever")
  func lostProbe() {
    let breaker = Switch()
    for _ in 0..<3 { breaker.record(isFailure: true, at: 0) }
    #expect(breaker.admit(at: Self.second))
    breaker.forget(at: Self.second)
    #expect(breaker.admit(at: Self.second))
    #expect(!breaker.admit(at: 2 * Self.second))
    let lost = breaker.round
    #expect(breaker.admit(at: Self.second + Breaker.longest))
    breaker.record(isFailure: true, of: lost, at: Self.second + Breaker.longest)
    #expect(breaker.state == .probing)
  }

  @Test("while a probe runs, requests that were sent before it change nothing")
  func lateResults() {
    for (isLateFailure, isProbeFailure) in [(true, false), (false, true), (true, true)] {
      let breaker = Switch()
      #expect(breaker.admit(at: 0))
      let early = breaker.round
      for _ in 0..<3 { breaker.record(isFailure: true, at: 0) }
      #expect(breaker.admit(at: Self.second))
      breaker.record(isFailure: isLateFailure, of: early, at: Self.second)
      breaker.forget(early, at: Self.second)
      #expect(breaker.state == .probing)
      breaker.record(isFailure: isProbeFailure, at: Self.second)
      #expect(breaker.state == (isProbeFailure ? .open : .closed))
      breaker.record(isFailure: true, of: early, at: Self.second)
      #expect(breaker.state == (isProbeFailure ? .open : .closed))
    }
  }

  @Test("random results never let it wait more than 60 s", arguments: 0..<20)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let breaker = Switch()
    var now: Int64 = 0
    var refusedSince: Int64?
    for _ in 0..<5_000 {
      now += Int64(random.below(3_000)) * 1_000_000
      if breaker.admit(at: now) {
        refusedSince = nil
        breaker.record(isFailure: random.below(3) > 0, at: now)
      } else {
        refusedSince = refusedSince ?? now
        #expect(now - (refusedSince ?? now) <= Breaker.longest)
      }
    }
  }
}
