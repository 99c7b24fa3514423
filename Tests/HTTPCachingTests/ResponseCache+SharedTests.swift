import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheSharedTests {
  private let rules = CacheRules()
  private let fresh = HTTPField("Cache-Control", "max-age=60")

  private func form(
    _ fields: [HTTPField], _ asked: HTTPFields = [], status: Int = 200
  ) -> SharedForm? {
    SharedForm(
      head(status, HTTPFields(fields)), to: request("/a", asked),
      ResponseTimes(request: moment(0), response: moment(1)), rules)
  }

  @Test func `a form answers the requests that it is for, while it is fresh`() throws {
    let shared = try #require(
      form([fresh, HTTPField("Vary", "Accept-Language")], [HTTPField("Accept-Language", "de")]))
    #expect(shared.selecting == ["accept-language:de"])
    let german = request("/a", [HTTPField("accept-language", "DE")])
    #expect(shared.freshHead(for: german, rules, now: moment(10))?.status == 200)
    #expect(shared.freshHead(for: request("/a"), rules, now: moment(10)) == nil)
    #expect(shared.freshHead(for: german, rules, now: moment(61)) == nil)
    let age = shared.freshHead(for: german, rules, now: moment(10))?.fields.first(named: "Age")?
      .text
    #expect(age == "10" || age == "9")
    let reload = request(
      "/a", [HTTPField("accept-language", "DE"), HTTPField("Cache-Control", "no-cache")])
    #expect(shared.freshHead(for: reload, rules, now: moment(10)) == nil)
  }

  @Test func `what only one user may have is no form`() {
    #expect(form([fresh]) != nil)
    #expect(form([HTTPField("Cache-Control", "private, max-age=60")]) == nil)
    #expect(form([fresh, HTTPField("Set-Cookie", "a=b")]) == nil)
    #expect(form([fresh], [HTTPField("Cookie", "a=b")]) == nil)
    #expect(form([fresh], [HTTPField("Authorization", "Basic x")]) == nil)
    #expect(form([fresh, HTTPField("Vary", "Cookie")], []) == nil)
    let key = HTTPField("X-Api-Key", "k")
    #expect(form([fresh, HTTPField("Vary", "X-Api-Key")], [key]) == nil)
    #expect(form([fresh, HTTPField("Vary", "*")]) == nil)
    #expect(form([fresh], status: 206) == nil && form([fresh], status: 302) == nil)
  }

  @Test func `a form of another machine that the rules forbid, or that is malformed, is not used`()
    throws
  {
    let good = try #require(form([fresh]))
    func answers(_ change: (inout SharedForm) -> Void) -> Bool {
      var form = good
      change(&form)
      return form.freshHead(for: request("/a"), rules, now: moment(10)) != nil
    }
    #expect(answers { _ in })
    #expect(!answers { $0.fields.append(Field("A", "b\r\nC: d")) })
    #expect(!answers { $0.fields.append(Field("A B", "c")) })
    #expect(!answers { $0.fields.append(Field("set-cookie", "a=b")) })
    #expect(!answers { $0.fields = [Field("Cache-Control", "private, max-age=60")] })
    #expect(!answers { $0.selecting = ["a b:c"] })
    #expect(!answers { $0.selecting = ["prefer:1", "prefer:2"] })
    #expect(!answers { $0.selecting = [ByteString("prefer:" + String(repeating: "a", count: 64))] })
    #expect(!answers { $0.selecting = ["authorization"] })
    #expect(!answers { $0.status = 500 } && !answers { $0.status = 206 })
  }

  @Test func `a time in the future is now`() throws {
    var shared = try #require(form([fresh]))
    (shared.requested, shared.received) = (moment(1_000), .distantFuture)
    let head = shared.freshHead(for: request("/a"), rules, now: moment(10))
    // The Date of the origin counts all the same.
    #expect(head?.fields.first(named: "Age")?.text == "9")
    (shared.requested, shared.received) = (.distantPast, .distantPast)
    #expect(shared.freshHead(for: request("/a"), rules, now: moment(10)) == nil)
  }

  @Test func `the digest of a body is 32 bytes, or there is none`() {
    var metadata = EntryMetadata(status: 200)
    let digest = [UInt8](repeating: 0xAB, count: 32)
    metadata.bodySHA256 = digest
    metadata.bodySHA256 = digest
    #expect(metadata.bodySHA256 == digest && metadata.userInfo.count == 1)
    #expect(metadata.isSameResponse(as: EntryMetadata(status: 200)))
    #expect(!metadata.isSameResponse(as: EntryMetadata(status: 201)))
    for text in ["", "ab", String(repeating: "g", count: 64), String(repeating: "a", count: 66)] {
      metadata.userInfo = [Field("http-sha256", ByteString(text))]
      #expect(metadata.bodySHA256 == nil, "\(text)")
    }
    metadata.bodySHA256 = nil
    #expect(metadata.userInfo.isEmpty)
  }
}
