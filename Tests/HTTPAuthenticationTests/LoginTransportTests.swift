import ClientTesting
import Testing

@testable import HTTPAuthentication

struct LoginTransportTests {
  @Test(arguments: [
    Credential.token("t"), .password(user: "u", password: "p", sendsBasicUnasked: true),
  ])
  func `the credential of a request goes to its origin alone`(credential: Credential) async throws {
    let scripted = ScriptedTransport(ScriptedTransport.Answer())
    let page = try NormalizedURL("http://a.example/page")
    let transport = scripted.loggingIn { _ in .goOnWithout }.sending(credential, to: page)
    let login = Login(credential, for: page)
    for (text, isSent) in [
      ("http://a.example/other", true), ("http://b.example/page", false),
      ("https://a.example/page", false), ("http://a.example:81/page", false),
    ] {
      let url = try NormalizedURL(text)
      _ = try await transport.send(HTTPRequest(url: url))
      #expect(scripted.requests.last?.fields.contains("Authorization") == isSent, "\(text)")
      #expect((login.credential(for: url, CredentialSession()) != nil) == isSent, "\(text)")
    }
  }

  @Test func `a password goes by Basic unasked only below the folder of the page`() async throws {
    let right = Credential.password(user: "u", password: "p")
    let scripted = ScriptedTransport { request in
      let isAsked = request.url.target == "/a/b/first" && !request.fields.contains("Authorization")
      return .success(
        ScriptedTransport.Answer(
          "", status: isAsked ? 401 : 200,
          fields: isAsked ? [HTTPField("WWW-Authenticate", "Basic realm=r")] : []))
    }
    let transport = scripted.loggingIn { _ in .use(right) }
    for path in ["/a/b/first", "/a/b/c/2", "/a/3", "/a/b"] {
      let url = try NormalizedURL("http://a.example\(path)")
      _ = try await transport.send(HTTPRequest(url: url))
    }
    let sent = scripted.requests.map { $0.fields.contains("Authorization") }
    #expect(sent == [false, true, true, false, false])
  }
}
