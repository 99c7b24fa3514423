import CacheSystem
import HTTPTransports

/// A thread that moves the bytes of many tunnels. It waits for none of them alone.
final class RelayLoop: Sendable {
  private struct State {
    var arrivals: [Relay] = []
    var isStopping = false
    var hasEnded = false
  }

  private let state = Monitor(State())
  private let poll: Poll

  /// Starts the thread; returns `nil` if the system cannot.
  init?() {
    guard let poll = Poll() else { return nil }
    self.poll = poll
    let started: Void? = try? startThread { [self] in
      Poll.blockSignals()
      run()
      state.change { $0.hasEnded = true }
    }
    if started == nil { return nil }
  }

  /// Takes over a tunnel. After ``stop()`` it is closed at once.
  func add(_ relay: sending Relay) {
    let left = state.change { state -> Relay? in
      guard !state.isStopping else { return relay }
      state.arrivals.append(relay)
      return nil
    }
    if let left { return left.close() }
    poll.wake()
  }

  /// Cuts all tunnels, and returns when they are closed.
  func stop() {
    state.change { $0.isStopping = true }
    poll.wake()
    state.wait { $0.hasEnded ? () : nil }
  }

  private func run() {
    // Safety: the memory is freed at the end of the thread, which alone uses it.
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: TunnelFlow.pieceBytes, alignment: 16)
    defer { unsafe buffer.deallocate() }
    var relays: [Relay] = []
    // Whether there may be more to move at once, for each of them.
    var isUnfinished: [Bool] = []
    while true {
      let (arrivals, isStopping) = state.change { state in
        defer { state.arrivals = [] }
        return (state.arrivals, state.isStopping)
      }
      relays += arrivals
      isUnfinished += arrivals.map { _ in true }
      if isStopping { break }
      let end = isUnfinished.contains(true) ? ContinuousClock.now : nextEnd(relays)
      let isReady = poll.wait(for: relays.flatMap(\.watched), until: end)
      let now = ContinuousClock.now
      var kept: [Relay] = []
      var keptUnfinished: [Bool] = []
      for (index, relay) in relays.enumerated() {
        var outcome = TunnelFlow.Outcome.waiting
        if isUnfinished[index] || isReady[2 * index] || isReady[2 * index + 1] {
          outcome = unsafe relay.move(buffer, at: now)
        }
        if outcome == .broken || relay.isComplete || relay.end <= now {
          relay.close()
        } else {
          kept.append(relay)
          keptUnfinished.append(outcome == .unfinished)
        }
      }
      (relays, isUnfinished) = (kept, keptUnfinished)
    }
    for relay in relays { relay.close() }
  }

  private func nextEnd(_ relays: [Relay]) -> ContinuousClock.Instant {
    relays.map(\.end).min() ?? .now + .seconds(3600)
  }
}
