import HTTPSemantics
import TestSupport
import Testing

@testable import HTTPAuthentication

struct PendingQuestionsTests {
  @Test("who waits for an answer that never comes asks by themselves", .timeLimit(.minutes(5)))
  func abandoned() async throws {
    let one = Credential.password(user: "one", password: "1")
    let questions = PendingQuestions()
    let space = CredentialSession.Space(
      origin: .init(try NormalizedURL("http://a.example/")), realm: "r")
    let subject = PendingQuestions.Subject(space: space, logOuts: 0)
    let begun = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      await questions.ask(subject) {
        begun.continuation.finish()
        await eventually { false }
        return .cancel
      }
    }
    for await _ in begun.stream {}
    let second = Task { await questions.ask(subject) { .use(one) } }
    first.cancel()
    #expect(await second.value == .use(one))
    #expect(await first.value == .goOnWithout)
  }
}
