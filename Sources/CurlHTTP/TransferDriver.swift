import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransports

/// Runs libcurl's multi handle: starts, resumes and removes transfers, waits for the network, and
/// checks the timeouts. Called on the driver thread only.
@safe
final class TransferDriver {
  /// The longest sleep of the thread when nothing is due. It is only a limit, because every change
  /// wakes the thread.
  private static let longestWait = Duration.seconds(600)

  /// The interval of checks for an end that libcurl does not report.
  private static let overCheck = Duration.milliseconds(100)

  private let multi: UnsafeMutableRawPointer
  private let setup: NetworkSetup
  private let load: TransferLoad
  private let sockets: IdleSockets
  private let cookies: CookieJar?
  private var running: [ObjectIdentifier: RunningTransfer] = [:]
  private var transferOfHandle: [UInt: ObjectIdentifier] = [:]
  private var uploading: Set<ObjectIdentifier> = []
  private let queues: OriginQueues
  private let lookUps: NameLookUps
  private var nextOverCheck: ContinuousClock.Instant?

  /// A time before which no timeout can expire. Activity only makes deadlines later, so the transfers are
  /// searched only when this time has come, and not on every event.
  private var nextTimeoutCheck: ContinuousClock.Instant?

  /// Creates a driver. The sockets must outlive the multi handle.
  init(
    _ multi: UnsafeMutableRawPointer, _ setup: NetworkSetup, _ load: TransferLoad,
    _ sockets: IdleSockets, _ lookUps: NameLookUps
  ) {
    unsafe self.multi = multi
    self.setup = setup
    self.load = load
    self.sockets = sockets
    self.lookUps = lookUps
    cookies = setup.keepsCookies ? CookieJar() : nil
    queues = OriginQueues(limit: setup.connectionsPerHost)
  }

  func perform(_ command: TransferLoop.Command, on transfer: Transfer) {
    switch command {
    case .start:
      guard !transfer.hasEnded else { return }
      if queues.admit(transfer) {
        start(transfer)
      } else if let deadline = transfer.deadline {
        checkTimeouts(by: deadline)
      }
    case .carryOut(.resumeReceiving): running[ObjectIdentifier(transfer)]?.resumeReceiving()
    case .carryOut(.resumeSending): running[ObjectIdentifier(transfer)]?.resumeSending()
    case .carryOut(.remove):
      if !remove(ObjectIdentifier(transfer)) { queues.withdraw(transfer) }
    }
  }

  /// Lets libcurl do the work that needs no waiting, and ends transfers that are complete.
  func advance() {
    var count: CInt = 0
    // Safety: the multi handle is valid until the loop has ended.
    let code = unsafe curl_multi_perform(multi, &count)
    if code != CURLM_OK {
      for ended in running.values { end(ended, .failed, "libcurl: multi \(code.rawValue)") }
    }
    var result = CURLE_OK
    while let handle = unsafe occurl_multi_next_finished(multi, &result) {
      guard let id = transferOfHandle[UInt(bitPattern: handle)], let ended = running[id] else {
        continue
      }
      let outcome = ended.outcome(of: result)
      if ended.sharesConnection { queues.noteSharedConnection(ended.transfer) }
      // Removed from libcurl first: when the reader sees the end, the connection is free again.
      remove(id, leavesLookUp: result == CURLE_OPERATION_TIMEDOUT)
      if ended.needsOtherConnection {
        queues.enter(ended.transfer)
        start(ended.transfer, onNewConnection: true)
      } else {
        ended.transfer.finish(outcome)
      }
    }
    checkOver()
    checkTimeouts()
    startWaiting()
  }

  /// Starts waiting transfers that get a connection now.
  private func startWaiting() {
    guard queues.waitingCount > 0 else { return }
    if setup.usesHTTP2 {
      for other in running.values where other.sharesConnection {
        queues.noteSharedConnection(other.transfer)
      }
    }
    while let next = queues.takeNext() { start(next) }
  }

  /// Waits for the network, libcurl's timers, a timeout or a command.
  func waitForEvents() {
    // Safety: the multi handle is valid; no descriptors of our own are passed.
    unsafe curl_multi_poll(multi, nil, 0, pollTimeout(), nil)
  }

  /// Ends all transfers.
  func removeAll() {
    for ended in running.values { end(ended, .cancelled) }
    for transfer in queues.removeAll() { transfer.finish(.failure(transfer.error(.cancelled))) }
  }

  /// Ends all transfers, and forgets all cookies.
  func reset() {
    removeAll()
    cookies?.removeAll()
  }

  /// Adds a transfer to libcurl; it already counts as running in its queue.
  private func start(_ transfer: Transfer, onNewConnection isNew: Bool = false) {
    guard !transfer.hasEnded else { return queues.leave(transfer) }
    guard let handle = EasyHandle() else {
      queues.leave(transfer)
      transfer.finish(.failure(transfer.error(.failed, "libcurl has no memory")))
      return
    }
    load.add()
    let readBytes = load.readBytes
    let new = RunningTransfer(
      transfer, handle, sockets, lookUps, setup, readBytes: readBytes)
    let logsConnectionIn = RequestCheck.logsConnectionIn(transfer.request.fields)
    var fault: String?
    if !handle.configure(transfer, setup, readBytes: readBytes)
      || !handle.set(CURLOPT_FRESH_CONNECT, isNew || mayFindDeadConnection(transfer) ? 1 : 0)
      || !handle.set(CURLOPT_FORBID_REUSE, logsConnectionIn ? 1 : 0)
      || !sockets.watch(handle) || !new.installCallbacks()
      || !(cookies?.serve(handle, transfer.request) ?? !setup.keepsCookies)
    {
      fault = "libcurl does not take an option"
      // Safety: both handles are valid; `running` keeps the easy handle until it is removed again.
    } else if unsafe curl_multi_add_handle(multi, handle.raw) != CURLM_OK {
      fault = "libcurl takes no more transfers"
    }
    if let fault {
      load.remove()
      queues.leave(transfer)
      transfer.finish(.failure(transfer.error(.failed, fault)))
      return
    }
    running[ObjectIdentifier(transfer)] = new
    transferOfHandle[handle.id] = ObjectIdentifier(transfer)
    if transfer.upload != nil { uploading.insert(ObjectIdentifier(transfer)) }
    if let next = new.nextTimeout(at: .now) { checkTimeouts(by: next.time) }
  }

  /// Removes a running transfer from libcurl; returns `false` if it is not running.
  ///
  /// - Parameter leavesLookUp: Whether a name that was being looked up still is.
  @discardableResult
  private func remove(_ id: ObjectIdentifier, leavesLookUp: Bool = true) -> Bool {
    guard let ended = running.removeValue(forKey: id) else { return false }
    if leavesLookUp, ended.handle.isLookingUp { lookUps.abandon(at: .now) }
    transferOfHandle[ended.handle.id] = nil
    uploading.remove(id)
    load.remove()
    queues.leave(ended.transfer)
    if ended.mayBeDead { _ = ended.handle.set(CURLOPT_FORBID_REUSE, 1) }
    // Safety: the handle was added to this multi handle and is freed after this.
    unsafe curl_multi_remove_handle(multi, ended.handle.raw)
    return true
  }

  private func end(_ ended: RunningTransfer, _ code: TransportError.Code, _ detail: String = "") {
    if code == .timeout { distrustConnection(of: ended) }
    remove(ObjectIdentifier(ended.transfer))
    ended.transfer.finish(.failure(ended.transfer.error(code, detail)))
  }
}

// HTTP/2 connections that may be dead. The end of a transfer does not close them, and libcurl would use
// them again.
extension TransferDriver {
  /// Records that a transfer has exceeded a timeout. The connections to its origin on which nothing comes
  /// from now on get no further transfers, and are closed after the last one.
  private func distrustConnection(of ended: RunningTransfer) {
    guard setup.usesHTTP2, ended.transfer.request.url.scheme == .https, ended.lastActivity != nil
    else { return }
    let origin = ended.transfer.origin
    for other in running.values where other.transfer.origin == origin { other.mayBeDead = true }
  }

  /// Returns whether libcurl might choose a connection that may be dead, and others use.
  private func mayFindDeadConnection(_ transfer: Transfer) -> Bool {
    running.values.contains { $0.mayBeDead && $0.transfer.origin == transfer.origin }
  }
}

// Timeouts, and ends that libcurl does not report.
extension TransferDriver {
  /// Lets libcurl find the end of responses whose upload is paused. If there is no end, libcurl
  /// asks for more of the body and is paused again.
  private func checkOver() {
    let now = ContinuousClock.now
    if let nextOverCheck, nextOverCheck > now { return }
    nextOverCheck = nil
    for id in uploading {
      guard let candidate = running[id], candidate.mayBeOver else { continue }
      candidate.lookForEnd()
      nextOverCheck = now + Self.overCheck
    }
  }

  private func checkTimeouts() {
    let now = ContinuousClock.now
    if let nextTimeoutCheck, nextTimeoutCheck > now { return }
    nextTimeoutCheck = nil
    for candidate in running.values {
      guard let next = candidate.nextTimeout(at: now) else { continue }
      if next.time <= now {
        end(candidate, .timeout, next.detail)
      } else {
        checkTimeouts(by: next.time)
      }
    }
    let (expired, next) = queues.takeExpired(at: now)
    if let next { checkTimeouts(by: next) }
    for transfer in expired {
      transfer.finish(.failure(transfer.error(.timeout, "no connection became free in time")))
    }
  }

  /// Makes the next check come at this time or earlier.
  private func checkTimeouts(by time: ContinuousClock.Instant) {
    nextTimeoutCheck = min(nextTimeoutCheck ?? time, time)
  }

  /// Returns milliseconds for curl_multi_poll(3), rounded up so that the wait is not too short.
  private func pollTimeout() -> CInt {
    var wait = Self.longestWait
    if let nextTimeoutCheck { wait = min(wait, nextTimeoutCheck - .now) }
    if let nextOverCheck { wait = min(wait, nextOverCheck - .now) }
    let (seconds, attoseconds) = max(wait, .zero).components
    return CInt(seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1)
  }
}
