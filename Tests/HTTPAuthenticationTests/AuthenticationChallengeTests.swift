import HTTPSemantics
import Testing

@testable import HTTPAuthentication

struct AuthenticationChallengeTests {
  @Test func `the strongest scheme comes first, whatever the order of the server`() {
    let challenges = [
      "Basic realm=b", "Unknown realm=u", "Digest realm=d, nonce=n", "Bearer realm=t",
    ]
    for challenges in [challenges, challenges.reversed()] {
      let head = HTTPResponseHead(
        status: 401, fields: HTTPFields(challenges.map { HTTPField("WWW-Authenticate", $0) }))
      let supported = AuthenticationChallenge.supported(in: head)
      #expect(supported.map(\.scheme) == [.bearer, .digest, .basic])
      #expect(supported.map(\.challenge.realm) == ["t", "d", "b"])
    }
  }
}
