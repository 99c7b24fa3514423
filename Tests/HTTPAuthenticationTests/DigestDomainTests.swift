import ClientTesting
import Testing

@testable import HTTPAuthentication

struct DigestDomainTests {
  @Test(arguments: [
    ("", [true, true, true]), ("domain=\"\"", [true, true, true]),
    ("domain=\"/\"", [true, true, true]),
    ("domain=\"/a/b/c /a/\"", [true, true, false]),
    ("domain=\"/a/b/ /4\"", [true, false, true]),
    ("domain=\"http://a.example/a/b/\"", [true, false, false]),
    ("domain=\"/x/ http://b.example/ http://[\"", [true, false, false]),
  ])
  func `a password goes by Digest to the URIs of the domain before the server asks`(
    domain: String, isSent: [Bool]
  ) async throws {
    let scripted = ScriptedTransport(ScriptedTransport.Answer())
    scripted.set { request in
      let isAsked = !request.fields.contains("Authorization")
      let challenge = "Digest realm=r, nonce=n, qop=auth, \(domain)"
      return .success(
        ScriptedTransport.Answer(
          "", status: isAsked && request.url.target == "/a/b/first" ? 401 : 200,
          fields: isAsked ? [HTTPField("WWW-Authenticate", challenge)] : []))
    }
    let right = Credential.password(user: "alice", password: "right")
    let authenticator = Authenticator(provider: { _ in .use(right) })
    let transport = LoginTransport(
      transport: AuthenticatingTransport(transport: scripted, session: authenticator.session),
      authenticator: authenticator)
    for path in ["/a/b/first", "/a/b/2", "/a/3", "/4"] {
      let url = try NormalizedURL("http://a.example\(path)")
      #expect(try await transport.send(HTTPRequest(url: url)).head.status == 200, "\(path)")
    }
    #expect(
      scripted.requests.map { $0.fields.contains("Authorization") } == [false, true] + isSent)
  }
}
