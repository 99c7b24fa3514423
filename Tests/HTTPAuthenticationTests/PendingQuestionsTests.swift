import ClientTesting
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

  @Test("a credential for one request is no answer for others", .timeLimit(.minutes(5)))
  func forOneRequest() async throws {
    let questions = PendingQuestions()
    let space = CredentialSession.Space(
      origin: .init(try NormalizedURL("http://a.example/")), realm: "r")
    let subject = PendingQuestions.Subject(space: space, logOuts: 0)
    let all = [Credential.Persistence.request, .session].map {
      Credential.password(user: "\($0)", password: "1", persistence: $0)
    }
    let (begun, gate) = (Gate(), Gate())
    let first = Task {
      await questions.ask(subject) {
        begun.open()
        _ = await gate.pass()
        return .use(all[0])
      }
    }
    _ = await begun.pass()
    let second = Task {
      await questions.ask(subject) { .use(all[1]) }
    }
    await eventually { questions.waiterCount == 1 }
    gate.open()
    #expect(await [first.value, second.value] == [.use(all[0]), .use(all[1])])
  }
}
