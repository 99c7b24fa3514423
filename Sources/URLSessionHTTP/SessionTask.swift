import CacheSystem
import Foundation
import HTTPSemantics
import HTTPTransports
import Synchronization

/// One task of URLSession and the transfer that it carries out. Called by the session's delegate.
final class SessionTask: Sendable {
  private struct State {
    /// The bytes of the body that must come, if the response says so.
    var expected: UInt64?
    var received: UInt64 = 0
    var limits: SessionLimits
    var hasFile = false
    var stopUpload: (@Sendable () -> Void)?
    var watch: Task<Void, Never>?
    /// The reason for which the task was cancelled here.
    var failure: TransportError?
  }

  let transfer: Transfer
  private let pace: TaskPace
  private let setup: NetworkSetup
  private let state: Mutex<State>

  init(_ transfer: Transfer, _ pace: TaskPace, _ setup: NetworkSetup) {
    self.transfer = transfer
    self.pace = pace
    self.setup = setup
    state = Mutex(State(limits: SessionLimits(transfer.options, now: .now)))
  }

  /// Notes that the server, or the network, does something.
  func noteSign() { state.withLock { $0.limits.noteSign(now: .now) } }

  /// Notes that there is no network, and that the task waits for one.
  func noteWaiting() { state.withLock { $0.limits.noteWaiting() } }

  func receiveInterim(_ response: HTTPURLResponse) {
    noteSign()
    let head = HTTPResponseHead(
      status: response.statusCode, fields: SessionHead.fields(of: response))
    callOut { transfer.onInterim(head) }
  }

  /// Passes the head on.
  ///
  /// - Returns: whether the body is wanted.
  func receive(_ response: URLResponse) -> Bool {
    noteSign()
    do throws(TransportError) {
      guard let response = response as? HTTPURLResponse else {
        throw transfer.error(.protocolViolation, "the response is not HTTP")
      }
      let head = try SessionHead(response, to: transfer.request)
      state.withLock { $0.expected = head.bodyBytes }
      var fields = head.fields
      if setup.keepsCookies { fields = fields.concealingCookies }
      transfer.deliver((HTTPResponseHead(status: response.statusCode, fields: fields), "1.1"))
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// Passes on the response of a download task, whose body is in a file.
  func receive(_ response: URLResponse, in location: URL) {
    // A background session follows redirects, whatever the delegate says.
    guard response.url?.absoluteString == transfer.request.url.string else {
      return fail(transfer.error(.protocolViolation, "the session has followed a redirect"))
    }
    guard receive(response) else { return }
    do throws(TransportError) {
      let file = try FilePump(location, self)
      state.withLock { $0.hasFile = true }
      pace.setFile(file)
      if transfer.hasEnded { return pace.setFile(nil) }
      file.run()
    } catch {
      fail(error)
    }
  }

  /// Passes a piece of the body on.
  ///
  /// - Returns: whether the reader is behind.
  @discardableResult
  func receive(_ data: Data) -> Bool {
    noteSign()
    state.withLock { $0.received += UInt64(data.count) }
    let isFull = unsafe data.withUnsafeBytes { bytes in
      // Safety: the bytes are valid during the call, and are copied.
      unsafe transfer.accept(bytes, nextAtMost: 16 << 10)
    }
    if isFull { pace.pause(transfer) }
    return isFull
  }

  /// Ends the transfer as URLSession says, or leaves that to the file of a download task.
  func end(_ error: (any Error)?) {
    if error == nil, state.withLock({ $0.hasFile }) { return }
    complete(error)
  }

  func complete(_ error: (any Error)?) {
    let (watch, stopUpload, failure, missing) = state.withLock { state in
      (
        state.watch.take(), state.stopUpload.take(), state.failure,
        (state.expected ?? 0).subtracting(state.received)
      )
    }
    watch?.cancel()
    stopUpload?()
    pace.setFile(nil)
    if let failure {
      transfer.finish(.failure(failure))
    } else if let error {
      transfer.finish(.failure(SessionFailure.error(error, transfer)))
    } else if missing > 0 {
      transfer.finish(.failure(transfer.error(.truncatedBody, "\(missing) bytes are missing")))
    } else {
      transfer.finish(.success([]))
    }
  }

  /// Sets what ends an upload from a stream, and ends the upload before.
  func setUpload(_ stop: @escaping @Sendable () -> Void) {
    let old = state.withLock { state in
      defer { state.stopUpload = stop }
      return state.stopUpload
    }
    old?()
  }

  func fail(_ error: TransportError) {
    state.withLock { $0.failure = $0.failure ?? error }
    transfer.finish(.failure(error))
    pace.cancel()
  }
}

extension SessionTask {
  func watchTime() {
    if state.withLock({ $0.limits.areNone }) { return }
    let watch = Task { [weak self] in
      while !Task.isCancelled, let left = self?.timeLeft() {
        if left <= .zero { return }
        try? await Task.sleep(for: left, tolerance: .milliseconds(1))
      }
    }
    let isOver = transfer.hasEnded
    state.withLock { $0.watch = isOver ? nil : watch }
    if isOver { watch.cancel() }
  }

  /// Returns the time until a limit may be reached, or `nil` without a limit. If one is reached, the
  /// transfer ends.
  private func timeLeft() -> Duration? {
    let isWaitingHere = transfer.isPaused || transfer.upload?.awaitsSource == true
    let next = state.withLock { $0.limits.next(now: .now, isWaitingHere: isWaitingHere) }
    if let next, next.left <= .zero { fail(transfer.error(.timeout, next.detail)) }
    return next?.left
  }
}

extension UInt64 {
  fileprivate func subtracting(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
