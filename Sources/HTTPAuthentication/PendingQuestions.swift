import CacheSystem
import Synchronization

/// The questions for credentials that wait for an answer: all requests that need the same
/// credential share one question.
final class PendingQuestions: Sendable {
  /// What is asked for. After a log-out, requests do not wait for a question from before it.
  struct Subject: Hashable {
    let space: CredentialSession.Space
    let logOuts: UInt64
  }

  /// The answers to come; `nil` stands for one that does not count for the other requests.
  private let asking = Mutex<[Subject: Promise<CredentialAnswer?>]>([:])

  /// The number of requests that wait for the answer to another one's question, for tests.
  var waiterCount: Int {
    let promises = asking.withLock { Array($0.values) }
    return promises.reduce(0) { $0 + $1.waiterCount }
  }

  /// Asks for a credential, or waits for the answer to the same question that is pending.
  ///
  /// - Returns: `goOnWithout` if the task is cancelled while it waits.
  func ask(
    _ subject: Subject, _ ask: @escaping @Sendable () async -> CredentialAnswer
  ) async -> CredentialAnswer {
    while !Task.isCancelled {
      let (promise, isMine) = asking.withLock { asking -> (Promise<CredentialAnswer?>, Bool) in
        if let promise = asking[subject] { return (promise, false) }
        let promise = Promise<CredentialAnswer?>()
        asking[subject] = promise
        return (promise, true)
      }
      guard !isMine else {
        // A task of its own asks. It may have to wait for a user, and a cancelled caller must not.
        let own = Promise<CredentialAnswer>()
        let task = Task {
          let answer = await ask()
          asking.withLock { $0[subject] = nil }
          promise.settle(Self.counts(answer) ? answer : nil)
          own.settle(answer)
        }
        if let answer = await own.value() { return answer }
        // The others ask anew, unless there is an answer all the same.
        task.cancel()
        return .goOnWithout
      }
      guard let outcome = await promise.value() else { return .goOnWithout }
      if let outcome { return outcome }
    }
    return .goOnWithout
  }

  /// Returns whether an answer counts for the other requests that wait: not a credential for one
  /// request, and no refusal by a task that was cancelled.
  private static func counts(_ answer: CredentialAnswer) -> Bool {
    if case .use(let credential) = answer { return credential.persistence != .request }
    return !Task.isCancelled
  }
}
