import CacheFormat
import HTTPTransports
import MessageDigests
import Synchronization

/// The body of a response from a remote tier. Its length and SHA-256 are compared at the end:
/// nothing of it may be used before ``next()`` has returned `nil`.
package final class RemoteBody: Sendable {
  private struct State {
    let digest = MessageDigest(.sha256)
    var count: UInt64 = 0
    var isOver = false
    var failure: RemoteReason?
  }

  private let response: SharedResponse
  private let key: ByteString
  /// `nil` for a body that was in the document.
  private let transfer: (admission: TierServer.Admission, body: any TransportBody)?
  private let state = Mutex(State())
  private let onEnd: @Sendable (RemoteReason?, UInt64) -> Void

  init(
    _ response: SharedResponse, of key: ByteString,
    from transfer: (admission: TierServer.Admission, body: any TransportBody)?,
    onEnd: @escaping @Sendable (RemoteReason?, UInt64) -> Void
  ) {
    self.response = response
    self.key = key
    self.transfer = transfer
    self.onEnd = onEnd
  }

  deinit { end(.cancelled) }

  /// Returns the next piece, or `nil` at the end of a body that is the right one.
  ///
  /// - Throws: the reason why it is not.
  package func next() async throws(RemoteReason) -> [UInt8]? {
    let piece: [UInt8]?
    if let transfer {
      do throws(TransportError) {
        piece = try await transfer.body.next()
      } catch {
        throw failure(RemoteReason(error))
      }
    } else {
      piece = state.withLock { $0.count == 0 } ? response.inlineBody : nil
    }
    guard let piece, !piece.isEmpty else {
      // Read before the failure: it is true for any body that has ended, also by a failure.
      let isWhole = isWhole
      if let failure = state.withLock({ $0.failure }) { throw failure }
      guard isWhole else { throw failure(.wrongBytes) }
      end(nil)
      return nil
    }
    let isTooLong = state.withLock { state in
      state.count += UInt64(piece.count)
      if state.count <= response.length { state.digest.update(piece) }
      return state.count > response.length
    }
    if isTooLong { throw failure(.wrongBytes) }
    return piece
  }

  package func cancel() { end(.cancelled) }

  private var isWhole: Bool {
    state.withLock { state in
      // The digest must not be finished twice.
      state.isOver || state.count == response.length && state.digest.finish() == response.bodyDigest
    }
  }

  private func failure(_ reason: RemoteReason) -> RemoteReason {
    if reason == .wrongBytes, let transfer { transfer.admission.server.reportWrongBytes(of: key) }
    end(reason)
    return reason
  }

  private func end(_ reason: RemoteReason?) {
    let count = state.withLock { state -> UInt64? in
      guard !state.isOver else { return nil }
      (state.isOver, state.failure) = (true, reason)
      return state.count
    }
    guard let count else { return }
    if reason != nil { transfer?.body.cancel() }
    transfer?.admission.finish(reason)
    onEnd(reason, count)
  }
}
