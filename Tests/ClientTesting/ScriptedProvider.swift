package import HTTPAuthentication
import Synchronization

/// A provider that gives its answers in turn, the last one again and again, and notes the questions.
package final class ScriptedProvider: Sendable {
  private struct State {
    var answers: [CredentialAnswer]
    var challenges: [AuthenticationChallenge] = []
    var before: @Sendable () async -> Void = {}
  }

  private let state: Mutex<State>

  package init(_ answers: CredentialAnswer...) { state = Mutex(State(answers: answers)) }

  package var challenges: [AuthenticationChallenge] { state.withLock { $0.challenges } }

  /// Has the provider call `before` between a question and its answer.
  package func wait(_ before: @escaping @Sendable () async -> Void) {
    state.withLock { $0.before = before }
  }

  package var provider: CredentialProvider {
    { [self] challenge in
      let before = state.withLock { state in
        state.challenges.append(challenge)
        return state.before
      }
      await before()
      return state.withLock { state in
        state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
      }
    }
  }
}
