import HTTPSemantics
import Testing

@testable import HTTPAuthentication

struct DigestTermsTests {
  private func terms(_ line: String, cnonce: String = "c") throws -> DigestTerms {
    try #require(
      Challenge.all(in: [HTTPField("WWW-Authenticate", line)]).first
        .flatMap { DigestTerms($0, clientNonce: cnonce) })
  }

  private func response(
    _ line: String, user: String, password: String, uri: String, cnonce: String
  ) throws -> String {
    try terms(line, cnonce: cnonce).response(
      user: user, password: password, method: "GET", uri: uri, count: 1)
  }

  // RFC 7616, section 3.9.1.
  private static let example =
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=%, "
    + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""

  @Test(
    "the examples of RFC 7616",
    arguments: [
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
  func examples(algorithm: String, expected: String) throws {
    let line = Self.example.replacing("%", with: algorithm)
    let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    #expect(
      try response(
        line, user: "Mufasa", password: "Circle of Life", uri: "/dir/index.html", cnonce: cnonce)
        == expected)
    let field = try terms(line, cnonce: cnonce).authorization(
      user: "Mufasa", password: "Circle of Life", method: "GET", uri: "/dir/index.html", count: 1)
    #expect(
      field == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
        + "uri=\"/dir/index.html\", algorithm=\(algorithm), "
        + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
        + "cnonce=\"\(cnonce)\", qop=auth, response=\"\(expected)\", "
        + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"")
  }

  @Test(
    "texts that are not UTF-8 cannot be sent back",
    arguments: [
      "realm=\"\u{FC}\", nonce=\"a\"", "realm=\"a\", nonce=\"\u{FC}\"",
      "realm=\"a\", nonce=\"a\", opaque=\"\u{FC}\"",
    ])
  func otherEncodings(parameters: String) {
    let value = Array("Digest ".utf8) + parameters.unicodeScalars.map { UInt8($0.value) }
    let challenges = Challenge.all(in: [HTTPField(name: "WWW-Authenticate", value: value)])
    #expect(challenges.count == 1 && challenges.allSatisfy { DigestTerms($0) == nil })
  }

  @Test("a realm cannot leave its quotes")
  func quotes() throws {
    // To Swift, a quote with a combining mark after it is another character than a quote.
    let realm = "a\\\"\u{301}, response=\\\"forged\\\""
    let field = try terms("Digest realm=\"\(realm)\", nonce=\"n\"").authorization(
      user: "Mufasa", password: "Circle of Life", method: "GET", uri: "/", count: 1)
    #expect(Array(field.utf8).firstRange(of: Array("realm=\"\(realm)\", ".utf8)) != nil)
  }

  @Test("the example of RFC 2617, and the older way without a quality")
  func older() throws {
    let line =
      "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""
    let new = try response(
      line + ", qop=auth", user: "Mufasa", password: "Circle Of Life", uri: "/dir/index.html",
      cnonce: "0a4f113b")
    #expect(new == "6629fae49393a05397450978507c4ef1")
    let old = try response(
      line, user: "Mufasa", password: "Circle Of Life", uri: "/dir/index.html", cnonce: "0a4f113b")
    #expect(old == "670fd8c2df070c60b045671b8b24ff02")
    let empty = try response(
      line + ", qop=\"\"", user: "Mufasa", password: "Circle Of Life", uri: "/dir/index.html",
      cnonce: "0a4f113b")
    #expect(empty == old)
  }

  @Test("the key of a session has both nonces")
  func session() throws {
    let text = try response(
      "Digest realm=r, nonce=n, qop=auth, algorithm=MD5-sess", user: "u", password: "p", uri: "/",
      cnonce: "c")
    let md5 = DigestTerms.Function.md5
    let key = md5("\(md5("u:r:p")):n:c")
    #expect(text == md5("\(key):n:00000001:c:auth:\(md5("GET:/"))"))
  }

  @Test("a name goes quoted, percent-encoded or hashed")
  func names() throws {
    func part(_ line: String, _ user: String) throws -> String {
      let field = try terms(line).authorization(
        user: user, password: "p", method: "GET", uri: "/", count: 255)
      #expect(field.contains("nc=000000ff"))
      return String(field.dropFirst("Digest ".count).prefix { $0 != "," })
    }
    let line = "Digest realm=r, nonce=n, qop=auth"
    #expect(try part(line, "a\"b\\c") == "username=\"a\\\"b\\\\c\"")
    #expect(try part(line, "Jäsøn Doe") == "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe")
    #expect(try part(line, "a\r\nX: y") == "username*=UTF-8''a%0D%0AX%3A%20y")
    let hash = DigestTerms.Function.sha256("Jäsøn Doe:r")
    for yes in ["true", "TRUE"] {
      let line = line + ", userhash=\(yes), algorithm=SHA-256"
      #expect(try part(line, "Jäsøn Doe") == "username=\"\(hash)\"")
    }
  }

  @Test(
    "what cannot be computed here is no challenge to answer",
    arguments: [
      "Basic realm=r", "Digest realm=r", "Digest nonce=n",
      "Digest realm=r, nonce=n, algorithm=SHA-512-256", "Digest realm=r, nonce=n, algorithm=-sess",
      "Digest realm=r, nonce=n, qop=\"auth-int\"",
      "Digest realm=r, nonce=n, algorithm=MD5-sess",
    ])
  func unknown(line: String) {
    let challenge = Challenge.all(in: [HTTPField("WWW-Authenticate", line)])[0]
    #expect(DigestTerms(challenge) == nil)
  }
}
