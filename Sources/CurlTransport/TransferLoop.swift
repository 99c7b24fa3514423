import CCurl
import CCurlLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransport

/// Owns libcurl's multi handle and decides who drives it: the loop's thread, or, for a moment, a caller
/// whose answer is about to come.
///
/// One drives at a time: who has the seat. To wake a thread, and to be woken by it, takes longer than a
/// fetch from a server nearby. So a caller who asks such a server, and finds the seat free, drives by
/// itself for up to ``patience``, and leaves to the thread what is not done then.
@safe
final class TransferLoop: Sendable {
  /// Names what is asked of who drives.
  enum Command: Sendable {
    case start
    case resumeReceiving
    case resumeSending
    case remove
  }

  private enum Seat {
    case free
    case thread
    case caller
    /// A caller has left it to the thread.
    case left
  }

  /// How long a caller drives: a thread of Swift's pool does not wait longer than for a disk.
  private static let patience = Duration.milliseconds(1)

  /// How long a caller drives without sleep, where the last answer took no longer: to wake a sleeping
  /// processor takes about as long as such an answer.
  private static let vigilance = Duration.microseconds(200)

  private struct State {
    var seat = Seat.free
    var commands: [(Transfer, Command)] = []
    var isShutDown = false
    /// Set once nobody takes commands any more.
    var isOver = false
  }

  let setup: CurlSetup
  let load: TransferLoad
  let nearby = NearbyOrigins()
  // Safety: written once, freed by deinit. Who has the seat uses what it points to; others only pass it
  // to curl_multi_wakeup(3), which is safe from any thread.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
  /// libcurl calls back to them as it closes its connections. Used by who has the seat, and by deinit.
  private nonisolated(unsafe) let sockets = IdleSockets()
  /// Used by who has the seat.
  private nonisolated(unsafe) let seatsDriver: TransferDriver
  private var driver: TransferDriver { unsafe seatsDriver }
  private let state = Monitor(State())

  /// Starts the thread.
  ///
  /// - Throws: ``TransportError/Code/failed`` if libcurl or the system cannot.
  init(_ setup: CurlSetup) throws(TransportError) {
    self.setup = setup
    load = TransferLoad(bufferBytes: setup.bufferBytes)
    guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
      throw TransportError(.failed, url: "http:", detail: "libcurl cannot be started")
    }
    unsafe self.multi = multi
    unsafe occurl_multi_set_long(
      multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, setup.connectionsPerHost))
    unsafe seatsDriver = TransferDriver(multi, setup, load, sockets, nearby)
    do throws(SystemError) {
      try startThread {
        ThreadSignals.blockAll()
        self.run()
      }
    } catch {
      throw TransportError(.failed, url: "http:", detail: "no thread can be started")
    }
  }

  deinit {
    _ = unsafe curl_multi_cleanup(multi)
  }

  /// Asks who drives to do something with a transfer; from any thread.
  func submit(_ transfer: Transfer, _ command: Command) {
    add(transfer, command, mayDrive: false)
  }

  /// Starts a transfer, and drives until it has ended where that may be in a moment.
  func start(_ transfer: Transfer) {
    let lastTime = transfer.upload == nil ? nearby.lastTime(of: transfer.request.url) : nil
    guard add(transfer, .start, mayDrive: lastTime != nil), let lastTime else { return }
    driveForAMoment(transfer, awake: lastTime <= Self.vigilance ? Self.vigilance : .zero)
  }

  /// Ends all transfers and the thread, without waiting for it; from any thread.
  func shutDown() {
    state.change { $0.isShutDown = true }
    unsafe curl_multi_wakeup(multi)
  }

  /// Returns true if the caller has the seat.
  @discardableResult
  private func add(_ transfer: Transfer, _ command: Command, mayDrive: Bool) -> Bool {
    enum Next { case refuse, drive, wake, interrupt, nothing }
    let next = state.quietly { state -> Next in
      guard !state.isOver else { return .refuse }
      state.commands.append((transfer, command))
      switch state.seat {
      case .free where mayDrive && !state.isShutDown:
        state.seat = .caller
        return .drive
      case .free: return .wake
      case .left: return .nothing
      case .thread, .caller: return state.commands.count == 1 ? .interrupt : .nothing
      }
    }
    switch next {
    case .refuse: transfer.finish(.failure(transfer.error(.cancelled)))
    case .wake: state.wake()
    // Once for all that waits.
    case .interrupt: unsafe curl_multi_wakeup(multi)
    case .drive: return true
    case .nothing: break
    }
    return false
  }

  /// Drives, and stays awake for the first part of the time while nothing else runs.
  ///
  /// It ends as soon as the caller has something to read and more will take a while: nothing comes
  /// into a full buffer while its reader drives.
  private func driveForAMoment(_ transfer: Transfer, awake: Duration) {
    ThreadSignals.withoutBrokenPipe {
      let start = ContinuousClock.now
      while true {
        advance(commands())
        if transfer.hasEnded || transfer.isPaused { break }
        let time = ContinuousClock.now - start
        if time >= awake, transfer.hasHead { break }
        if time >= Self.patience {
          nearby.note(transfer.request.url, time)
          break
        }
        if time >= awake || driver.count > 1 { driver.waitForEvents(atMost: 1) }
      }
    }
    let isDone = state.quietly { state in
      let isDone = driver.isIdle && state.commands.isEmpty && !state.isShutDown
      state.seat = isDone ? .free : .left
      return isDone
    }
    if !isDone { state.wake() }
  }

  private func run() {
    while takeSeat() {
      repeat {
        advance(commands())
        if !driver.isIdle { driver.waitForEvents() }
      } while !leaveSeat()
    }
    driver.removeAll()
    let left = state.quietly { state in
      state.isOver = true
      return state.commands
    }
    for (transfer, _) in left { transfer.finish(.failure(transfer.error(.cancelled))) }
  }

  private func advance(_ commands: [(Transfer, Command)]) {
    for (transfer, command) in commands { driver.perform(command, on: transfer) }
    driver.advance()
  }

  /// Waits until the thread has something to drive; false after the shut-down.
  private func takeSeat() -> Bool {
    state.wait { state in
      let isWanted = state.isShutDown || !state.commands.isEmpty
      guard state.seat == .left || state.seat == .free && isWanted else { return nil }
      state.seat = .thread
      return !state.isShutDown
    }
  }

  /// Gives the seat back when there is nothing to drive.
  private func leaveSeat() -> Bool {
    state.quietly { state in
      guard !state.isShutDown, !driver.isIdle || !state.commands.isEmpty else {
        state.seat = .free
        return true
      }
      return false
    }
  }

  /// Returns what has been asked since the last call.
  private func commands() -> [(Transfer, Command)] {
    state.quietly { state in
      defer { state.commands = [] }
      return state.commands
    }
  }
}

/// Starts libcurl once for the process (curl_global_init(3)).
enum CurlLibrary {
  static let isReady = curl_global_init(occurl_global_default) == CURLE_OK
}
