import CReachability
import CacheSystem
import Synchronization

/// Confirms the state of the system by connections, on its own thread.
final class ProbeLoop: Sendable {
  private struct Wish {
    /// The state of the system. It is counted, so that the verdict on an older state can be
    /// dropped.
    var state: NetworkState
    var number = 0
    var isStopped = false
  }

  private let probe: NetworkProbe
  private let board: StateBoard
  private let wish: Monitor<Wish>
  /// Whether a connection is being made. Resolving its name may take longer than the timeout.
  private let isTrying = Atomic(false)

  init(_ probe: NetworkProbe, _ board: StateBoard, _ first: NetworkState) {
    self.probe = probe
    self.board = board
    wish = Monitor(Wish(state: first))
  }

  func start() throws(ReachabilityError) {
    do throws(SystemError) {
      try startThread { [self] in run() }
    } catch {
      throw ReachabilityError(.thread, error)
    }
  }

  func take(_ state: NetworkState) {
    board.guess(state)
    wish.change { wish in
      guard wish.state != state else { return }
      wish.state = state
      wish.number += 1
    }
  }

  /// Ends the thread, at the latest when the present connection attempt has ended.
  func stop() { wish.change { $0.isStopped = true } }

  private func run() {
    var done = -1
    while true {
      let seen = done
      // After a verdict on the newest state, the next probe is made after the interval.
      let next: Wish? =
        done < 0
        ? wish.wait { $0 }
        : wish.wait(nanoseconds: probe.interval.nanoseconds) {
          $0.isStopped || $0.number != seen ? $0 : nil
        }
      let now = next ?? wish.wait { $0 }
      if now.isStopped { return }
      let verdict = judge(now.state)
      done = now.number
      let isCurrent = wish.wait { $0.number == now.number && !$0.isStopped }
      if isCurrent { board.publish(verdict) }
    }
  }

  private func judge(_ state: NetworkState) -> NetworkState {
    guard state.quality != .none else { return state }
    guard let failure = connect() else { return state }
    return NetworkState(.none, reason: "\(state.reason), but \(probe) gives no answer: \(failure)")
  }

  /// Connects. Returns the reason of a failure, or `nil`.
  private func connect() -> String? {
    let timedOut = SystemError.timedOut.description
    guard !isTrying.exchange(true, ordering: .acquiringAndReleasing) else { return timedOut }
    let result = Monitor<Int32?>(nil)
    let milliseconds = probe.timeout.nanoseconds / 1_000_000
    do throws(SystemError) {
      try startThread { [self] in
        // Safety: both texts are zero-terminated for the call.
        let code = unsafe cr_connect(
          probe.host, String(probe.port), Int32(clamping: milliseconds))
        isTrying.store(false, ordering: .releasing)
        result.change { $0 = code }
      }
    } catch {
      isTrying.store(false, ordering: .releasing)
      return error.description
    }
    // A little longer than the timeout of the connection, so that its own error is reported.
    let waited = result.wait(nanoseconds: probe.timeout.nanoseconds + 100_000_000) { $0 }
    guard let code = waited else { return timedOut }
    if code > 0 { return "its name does not resolve" }
    return code < 0 ? SystemError(-code).description : nil
  }
}

extension Duration {
  /// The whole nanoseconds, at most a day.
  fileprivate var nanoseconds: Int64 {
    let bounded = max(.zero, min(self, .seconds(86_400))).components
    return bounded.seconds * 1_000_000_000 + bounded.attoseconds / 1_000_000_000
  }
}
