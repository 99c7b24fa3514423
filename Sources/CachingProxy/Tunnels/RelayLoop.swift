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
    guard let poll = try? Poll() else { return nil }
    self.poll = poll
    let started: Void? = try? startThread { [self] in
      blockSignals()
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
    while true {
      let (arrivals, isStopping) = state.change { state in
        defer { state.arrivals = [] }
        return (state.arrivals, state.isStopping)
      }
      relays += arrivals
      if isStopping { break }
      let end = nextEnd(relays)
      let isReady = poll.wait(for: relays.flatMap(\.watched), until: end)
      let now = ContinuousClock.now
      var kept: [Relay] = []
      for (index, relay) in relays.enumerated() {
        if relay.outcome == .unfinished || isReady[2 * index] || isReady[2 * index + 1] {
          unsafe relay.move(buffer, at: now)
        }
        if relay.isOver || relay.end <= now {
          relay.close()
        } else {
          kept.append(relay)
        }
      }
      relays = kept
    }
    for relay in relays { relay.close() }
  }

  /// Returns the time until which to wait: none if there may be more to move at once.
  private func nextEnd(_ relays: [Relay]) -> ContinuousClock.Instant {
    if relays.contains(where: { $0.outcome == .unfinished }) { return .now }
    return relays.map(\.end).min() ?? .now + .seconds(3600)
  }
}
