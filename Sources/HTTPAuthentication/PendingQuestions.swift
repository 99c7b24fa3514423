import CacheSystem
import Synchronization

/// The questions for credentials that wait for an answer: all requests that need the same
/// credential share one question.
final class PendingQuestions: Sendable {
  /// The result of a question.
  private enum Asked: Sendable {
    case credential(Credential)
    case declined
    /// The task that asked was cancelled before there was an answer.
    case abandoned
  }

  private let asking = Mutex<[CredentialSession.Space: Promise<Asked>]>([:])

  /// Asks for a protection space, or waits for the answer to a question for it that is pending.
  ///
  /// - Returns: `nil` if there is no credential, or the task is cancelled.
  func ask(
    for space: CredentialSession.Space, _ ask: @Sendable () async -> Credential?
  ) async -> Credential? {
    while !Task.isCancelled {
      let (promise, isMine) = asking.withLock { asking -> (Promise<Asked>, Bool) in
        if let promise = asking[space] { return (promise, false) }
        let promise = Promise<Asked>()
        asking[space] = promise
        return (promise, true)
      }
      guard !isMine else {
        let credential = await ask()
        asking.withLock { $0[space] = nil }
        promise.settle(Self.outcome(credential))
        return credential
      }
      switch await promise.value() {
      case .credential(let credential): return credential
      case .declined, nil: return nil
      case .abandoned: continue
      }
    }
    return nil
  }

  /// A credential for one request is not given to the other requests that wait.
  private static func outcome(_ credential: Credential?) -> Asked {
    guard let credential else { return Task.isCancelled ? .abandoned : .declined }
    return credential.persistence == .session ? .credential(credential) : .abandoned
  }
}
