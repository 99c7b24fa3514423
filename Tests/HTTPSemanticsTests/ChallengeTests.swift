import Testing

@testable import HTTPSemantics

struct ChallengeTests {
  private func read(_ lines: String...) -> [Challenge] {
    Challenge.all(in: HTTPFields(lines.map { HTTPField("WWW-Authenticate", $0) }))
  }

  private func challenge(
    _ scheme: String, token: String? = nil, _ parameters: (String, String)...
  ) -> Challenge {
    Challenge(
      scheme: scheme, token: token,
      parameters: parameters.map { Challenge.Parameter($0.0, $0.1) })
  }

  @Test("a challenge has a scheme, and parameters or a token")
  func single() {
    #expect(read("Basic realm=\"a b\"") == [challenge("Basic", ("realm", "a b"))])
    #expect(read("Basic realm=simple") == [challenge("Basic", ("realm", "simple"))])
    #expect(read("Negotiate") == [challenge("Negotiate")])
    #expect(read("Negotiate YWJjZA==") == [challenge("Negotiate", token: "YWJjZA==")])
    #expect(read("  Bearer  ,") == [challenge("Bearer")])
    #expect(
      read("Basic  REALM = \"x\" , Charset=\"UTF-8\"")
        == [challenge("Basic", ("realm", "x"), ("charset", "UTF-8"))])
    #expect(read("X a==,b=c")[0].token == "a==")
  }

  @Test("several challenges may stand in one line, and in several")
  func several() {
    // RFC 9110, section 11.6.1.
    #expect(
      read(
        "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"")
        == [
          challenge("Basic", ("realm", "simple")),
          challenge("Newauth", ("realm", "apps"), ("type", "1"), ("title", "Login to \"apps\"")),
        ])
    #expect(
      read("Negotiate, Basic realm=x, NTLM abc=, Digest nonce=\"n\",qop=\"auth,auth-int\"")
        == [
          challenge("Negotiate"), challenge("Basic", ("realm", "x")),
          challenge("NTLM", token: "abc="),
          challenge("Digest", ("nonce", "n"), ("qop", "auth,auth-int")),
        ])
    #expect(
      read("Digest realm=\"a\", algorithm=SHA-256", "Digest realm=\"a\", algorithm=MD5").map {
        $0["algorithm"]
      } == ["SHA-256", "MD5"])
    #expect(read(",, Basic realm=x ,, ,Bearer").map(\.scheme) == ["Basic", "Bearer"])
  }

  @Test("what stands in quotes is no syntax, and an escape is one byte")
  func quotes() {
    #expect(
      read("Basic realm=\"a, Digest realm=b\", charset=\"UTF-8\"")
        == [challenge("Basic", ("realm", "a, Digest realm=b"), ("charset", "UTF-8"))])
    #expect(read("Basic realm=\"\\\\\\\"\"")[0].realm == "\\\"")
    #expect(read("Basic realm=\"\"")[0].realm == "")
    #expect(read("Basic realm=\"Käse\"")[0].realm == "Käse")
  }

  @Test("garbage is left out, and what follows it is read")
  func garbage() {
    #expect(read("").isEmpty)
    #expect(read("=, \"x\", @@@, realm=\"x\"").isEmpty)
    #expect(read("@@@, Basic realm=x").map(\.scheme) == ["Basic"])
    #expect(
      read("Basic realm=\"x\" trailing, charset=UTF-8, Bearer") == [
        challenge("Basic", ("realm", "x"), ("charset", "UTF-8")), challenge("Bearer"),
      ])
    #expect(read("Basic realm=\"never closed, Digest nonce=\"").map(\.scheme).first == "Basic")
    // By the grammar this is a token.
    #expect(read("Basic realm=, charset=UTF-8") == [challenge("Basic", token: "realm=")])
    #expect(read("Basic realm=@, charset=UTF-8") == [challenge("Basic", ("charset", "UTF-8"))])
    #expect(read("Digest @@=1, nonce=n") == [challenge("Digest", ("nonce", "n"))])
  }

  @Test("the first of repeated parameters counts, schemes are equal without regard to case")
  func names() {
    let found = read("bAsIc realm=a, realm=b")[0]
    #expect(found.realm == "a")
    #expect(found.isScheme("Basic"))
    #expect(!found.isScheme("Bearer"))
    #expect(found["charset"] == nil)
  }

  @Test("other fields are other fields")
  func fields() {
    let fields: HTTPFields = [
      HTTPField("proxy-authenticate", "Basic realm=p"), HTTPField("WWW-Authenticate", "Bearer"),
    ]
    #expect(Challenge.all(in: fields, named: "Proxy-Authenticate").map(\.realm) == ["p"])
    #expect(Challenge.all(in: fields).map(\.scheme) == ["Bearer"])
  }

  @Test(
    "hostile lines take bounded time and room",
    arguments: [
      String(repeating: "\\\"", count: 50_000), String(repeating: "A,", count: 50_000),
      "A " + String(repeating: "b=c,", count: 50_000), String(repeating: "a b ", count: 50_000),
      String(repeating: "\"", count: 99_999), "A b=" + String(repeating: "\"\\", count: 50_000),
      String(repeating: " ", count: 100_000), "A " + String(repeating: "=", count: 100_000),
    ])
  func hostile(line: String) {
    let found = read(line)
    #expect(found.count <= Challenge.maximumCount)
    #expect(found.allSatisfy { $0.parameters.count <= Challenge.maximumCount })
  }
}
