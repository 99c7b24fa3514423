import HTTPSemantics
import Testing

@testable import HTTPAuthentication

struct CredentialSessionTests {
  private let session = CredentialSession()
  private let one = Credential.password(user: "one", password: "1")
  private let two = Credential.password(user: "two", password: "2")

  private func url(_ text: String) throws -> NormalizedURL { try NormalizedURL("http://\(text)") }

  private func keep(
    _ credential: Credential, at text: String, realm: String = "r", below directory: String? = nil
  ) throws {
    let url = try url(text)
    let space = CredentialSession.Space(origin: .init(url), realm: realm)
    session.keep(credential, in: space, at: url, below: directory.map { [$0] })
  }

  private func sent(_ text: String) throws -> Credential? {
    session.credential(for: try url(text))
  }

  @Test("a credential is sent unasked from the folder of its URL down, to its origin alone")
  func folders() throws {
    try keep(one, at: "a.example/x/page?q=/y/")
    for inside in ["a.example/x/", "a.example/x/other", "a.example:80/x/y/z?q", "A.EXAMPLE/x/%41"] {
      #expect(try sent(inside) == one, "\(inside)")
    }
    let outside = [
      "a.example/", "a.example/x", "a.example/xy/", "a.example/y/x/", "b.example/x/",
      "a.example:81/x/", "x.a.example/x/", "a.example/?/x/",
    ]
    for outside in outside { #expect(try sent(outside) == nil, "\(outside)") }
    #expect(session.credential(for: try NormalizedURL("https://a.example/x/")) == nil)
    #expect(session.credential(for: try NormalizedURL("https://a.example:80/x/")) == nil)
  }

  @Test("of very many folders, the last ones are remembered")
  func manyFolders() throws {
    for number in 0..<100 { try keep(one, at: "a.example/\(number)/") }
    #expect(try sent("a.example/99/x") == one && sent("a.example/36/x") == one)
    #expect(try sent("a.example/35/x") == nil)
    for _ in 0..<100 { try keep(one, at: "a.example/99/") }
    #expect(try sent("a.example/36/x") == one)
  }

  @Test("of very many realms of an origin, the last ones are remembered")
  func manyRealms() throws {
    try keep(one, at: "b.example/", realm: "other")
    try keep(two, at: "a.example/", realm: "")
    for number in 0..<100 { try keep(one, at: "a.example/", realm: "\(number)") }
    let origin = NormalizedURL.Origin(try url("a.example/"))
    let kept = (0..<100).filter {
      session.credential(in: CredentialSession.Space(origin: origin, realm: "\($0)")) != nil
    }
    #expect(kept == Array(36..<100))
    let unknown = CredentialSession.Space(origin: origin, realm: "")
    #expect(session.credential(in: unknown) == two)
    #expect(try sent("b.example/x") == one)
    session.forgetAll()
    #expect(session.credential(named: one.name) == nil)
  }

  @Test("the deepest folder counts, and a realm may have several")
  func depth() throws {
    try keep(one, at: "a.example/x/", below: "/")
    try keep(two, at: "a.example/deep/er/page", realm: "s")
    #expect(try sent("a.example/deep/er/x") == two)
    #expect(try sent("a.example/deep/x") == one)
    try keep(two, at: "a.example/other/", realm: "s")
    #expect(try sent("a.example/other/x") == two)
    #expect(try sent("a.example/deep/er/x") == two)
    try keep(one, at: "a.example/", realm: "top")
    #expect(try sent("a.example/deep/er/x") == two)
  }

  @Test("a new credential takes the place of the old one in its realm, and forgetting is thorough")
  func replacing() throws {
    try keep(one, at: "a.example/")
    try keep(two, at: "a.example/")
    #expect(try sent("a.example/") == two)
    #expect(session.credential(named: one.name) == nil)
    #expect(session.credential(named: two.name) == two)
    try keep(two, at: "a.example/x/", realm: "s")
    try keep(two, at: "b.example/")
    #expect(session.refuse(two, at: try url("a.example/page")))
    #expect(try sent("a.example/x/") == nil)
    #expect(try sent("b.example/") == two)
    session.forgetAll()
    #expect(try sent("b.example/") == nil)
    #expect(session.credential(named: two.name) == nil)
  }

  @Test("what was accepted is forgotten after refusals in a row")
  func refusals() throws {
    let page = try url("a.example/page")
    try keep(one, at: "a.example/")
    session.noteAccepted(one, at: page)
    for _ in 1..<CredentialSession.maximumRefusals { #expect(!session.refuse(one, at: page)) }
    session.noteAccepted(one, at: page)
    for _ in 1..<CredentialSession.maximumRefusals { #expect(!session.refuse(one, at: page)) }
    #expect(try sent("a.example/page") == one)
    #expect(session.refuse(one, at: page))
    #expect(try sent("a.example/page") == nil)
    #expect(session.credential(named: one.name) == nil)
  }

  @Test("how a credential in use is sent is remembered, whatever others there are")
  func manyWays() throws {
    let page = try url("a.example/")
    let terms = try terms()
    try keep(one, at: "a.example/")
    session.retain(two)
    for credential in [one, two] {
      session.setWay(.digest(terms, count: 0), for: credential, to: page)
    }
    let other = Credential.token("other")
    for number in 0..<3 * CredentialSession.maximumWays {
      session.setWay(.bearer, for: other, to: try url("\(number).example/"))
    }
    for credential in [one, two] {
      #expect(session.way(for: credential, to: page) == .digest(terms, count: 1))
    }
    #expect(session.way(for: other, to: try url("0.example/")) == nil)
  }

  @Test("in one folder, a credential of a known realm is sent first")
  func knownRealm() throws {
    try keep(one, at: "a.example/x/", realm: "")
    try keep(two, at: "a.example/x/", realm: "r")
    #expect(try sent("a.example/x/page") == two)
    #expect(try sent("a.example/") == nil)
  }

  @Test("what is in use is found until its last user lets go of it")
  func inUse() {
    session.retain(one)
    session.retain(one)
    session.release(one)
    #expect(session.credential(named: one.name) == one)
    session.release(one)
    #expect(session.credential(named: one.name) == nil)
    session.release(one)
    #expect(session.credential(named: one.name) == nil)
  }

  @Test("secrets differ in their names, and names do not tell them")
  func names() {
    let all: [Credential] = [
      one, two, .token("one"), .password(user: "on", password: "e1"), .token("a"),
      .password(user: "token", password: "a"),
      .password(user: "", password: ""), .token(""),
    ]
    #expect(Set(all.map(\.name)).count == all.count)
    #expect(one == .password(user: "one", password: "1", persistence: .request))
  }

  private func head(_ challenges: String...) -> HTTPResponseHead {
    HTTPResponseHead(
      status: 401, fields: HTTPFields(challenges.map { HTTPField("WWW-Authenticate", $0) }))
  }

  private func terms() throws -> DigestTerms {
    let challenge = Challenge(
      scheme: "Digest", parameters: [.init("realm", "r"), .init("nonce", "n")])
    return try #require(DigestTerms(challenge, clientNonce: "c"))
  }

  @Test("it is accepted where it was sent, and saved for that place, once")
  func accepted() throws {
    for (text, realm) in [("a.example/x/", "r"), ("a.example/y/", "s"), ("b.example/x/", "r")] {
      let url = try url(text)
      let space = CredentialSession.Space(origin: .init(url), realm: realm)
      session.keep(one, in: space, at: url)
      session.keep(
        one, in: space, at: url, saving: ProtectionSpace(url: url, realm: realm, scheme: .basic))
    }
    let page = try url("a.example/x/page")
    #expect(session.takeAccepted(one, at: page) == nil)
    session.noteAccepted(one, at: page)
    #expect(session.takeAccepted(one, at: try url("b.example/x/page")) == nil)
    #expect(session.takeAccepted(one, at: page)?.space.realm == "r")
    #expect(session.takeAccepted(one, at: page) == nil)
  }

  @Test("a 401 for other realms has not tried it, one without a realm that is known has")
  func otherRealms() throws {
    let page = try url("a.example/x/page")
    try keep(one, at: "a.example/x/")
    #expect(session.isForOtherRealm(one, than: head("Basic realm=s"), at: page))
    for head in [head("Basic realm=r"), head("Basic realm=s", "Bearer realm=r"), head()] {
      #expect(!session.isForOtherRealm(one, than: head, at: page))
    }
    try keep(one, at: "a.example/x/", realm: "")
    #expect(!session.isForOtherRealm(one, than: head("Basic realm=s"), at: page))
  }

  @Test("what was found before the vault was empty is not kept")
  func emptying() throws {
    let page = try url("a.example/")
    let space = CredentialSession.Space(origin: .init(page), realm: "r")
    session.forgetAll(isEmptying: true)
    let logOuts = session.logOuts
    #expect(!session.keep(one, in: space, at: page, ifStill: logOuts))
    session.endEmptying()
    #expect(!session.keep(one, in: space, at: page, ifStill: logOuts))
    #expect(session.keep(one, in: space, at: page, ifStill: session.logOuts))
  }

  @Test("a refusal and a log-out are changes, and a log-out ends the use of a nonce")
  func changes() throws {
    let page = try url("a.example/")
    session.setWay(.digest(try terms(), count: 0), for: one, to: page)
    try keep(one, at: "a.example/")
    var before = session.changes
    #expect(session.refuse(one, at: page))
    #expect(session.changes > before)
    before = session.changes
    session.forgetAll()
    #expect(session.changes > before)
    #expect(session.way(for: one, to: page) == nil)
  }

  @Test("a password that goes by Digest does not learn Basic, nor is it given to Basic unasked")
  func digestAndBasic() throws {
    let page = try url("a.example/")
    let digest = "Digest realm=r, nonce=m"
    session.setWay(.digest(try terms(), count: 0), for: one, to: page)
    session.learn(head("Basic realm=r"), for: one, to: page)
    #expect(session.way(for: one, to: page) == .digest(try terms(), count: 1))
    #expect(session.isUnseen(one, by: head("Basic realm=r"), at: page))
    for head in [head("Basic realm=r", digest), head(digest), head("Bearer"), head()] {
      #expect(!session.isUnseen(one, by: head, at: page))
    }
    #expect(!session.isUnseen(two, by: head("Basic realm=r"), at: page))
  }
}
