package import HTTPAuthentication
import Synchronization

/// A provider that gives its answers in turn, the last one again and again, and notes the questions.
package final class ScriptedProvider: Sendable {
  private let state: Mutex<(answers: [CredentialAnswer], challenges: [AuthenticationChallenge])>

  package init(_ answers: CredentialAnswer...) { state = Mutex((answers, [])) }

  package var challenges: [AuthenticationChallenge] { state.withLock { $0.challenges } }

  package var provider: CredentialProvider {
    { [self] challenge in
      state.withLock { state in
        state.challenges.append(challenge)
        return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
      }
    }
  }
}
