import CacheSystem
import Synchronization

/// Knows who is being asked for credentials, so that one answer is for all who need the same.
final class PendingQuestions: Sendable {
  /// Says how asking has ended.
  private enum Asked: Sendable {
    case credential(Credential)
    case declined
    /// Whoever asked has gone before there was an answer.
    case abandoned
  }

  private let asking = Mutex<[CredentialSession.Space: Promise<Asked>]>([:])

  /// Asks for a protection space, or waits for the answer to somebody else who asks for it already.
  ///
  /// - Returns: nil where there is none, or the task is cancelled.
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

  /// What is for one request is not for those who wait.
  private static func outcome(_ credential: Credential?) -> Asked {
    guard let credential else { return Task.isCancelled ? .abandoned : .declined }
    return credential.persistence == .session ? .credential(credential) : .abandoned
  }
}
