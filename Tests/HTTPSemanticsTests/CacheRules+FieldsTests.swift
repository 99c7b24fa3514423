import HTTPSemantics
import Testing

struct CacheRulesFieldsTests {
  private func names(_ fields: HTTPFields) -> [String] {
    fields.map(\.name)
  }

  @Test
  func `fields of the connection and of the proxy are not stored, all others are, in their order`()
  {
    let kept = [
      "Date", "Content-Type", "Content-Encoding", "Content-Location", "Content-Foo", "Set-Cookie",
      "X-Frame-Options", "Clear-Site-Data", "ETag", "Expires", "Test-Header", "Set-Cookie",
    ]
    let dropped = [
      "Connection", "keep-alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
      "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
    ]
    let fields = HTTPFields((dropped + kept + dropped).map { HTTPField($0, "x") })
    #expect(names(CacheRules().fieldsToStore(fields, receivedAt: received)) == kept)
  }

  @Test func `what Connection lists is not stored, but what decides on the use always is`() {
    let fields: HTTPFields = [
      HTTPField("Date", "x"), HTTPField("Connection", "A, close"), HTTPField("a", "1"),
      HTTPField("connection", "b,Cache-Control"), HTTPField("B", "2"), HTTPField("C", "3"),
      HTTPField("Cache-Control", "no-cache"),
    ]
    #expect(
      names(CacheRules().fieldsToStore(fields, receivedAt: received))
        == ["Date", "C", "Cache-Control"])
  }

  @Test func `what private names is not stored in a shared cache`() {
    let fields: HTTPFields = [
      HTTPField("Date", "x"), HTTPField("Cache-Control", "private=\"X-User\""),
      HTTPField("x-user", "1"),
    ]
    #expect(CacheRules().fieldsToStore(fields, receivedAt: received) == fields)
    #expect(
      names(CacheRules.shared.fieldsToStore(fields, receivedAt: received))
        == ["Date", "Cache-Control"])
  }

  @Test func `a response without Date gets the time of its receipt, one with any keeps that`() {
    #expect(
      CacheRules().fieldsToStore([], receivedAt: received) == [HTTPField("Date", date(0))])
    let odd: HTTPFields = [HTTPField("date", "yesterday")]
    #expect(CacheRules().fieldsToStore(odd, receivedAt: received) == odd)
  }

  @Test func `Age tells the current age in place of the one that was received`() {
    let rules = CacheRules()
    let response = HTTPSemanticsTests.stored([HTTPField("age", "30"), HTTPField("A", "1")])
    #expect(
      rules.fieldsToServe(response, at: later(4), validated: false)
        == [HTTPField("A", "1"), HTTPField("Age", "34")])
    let plain = HTTPSemanticsTests.stored([])
    #expect(
      rules.fieldsToServe(plain, at: received, validated: false) == [HTTPField("Age", "0")])
  }

  @Test func `after a validation Age stands only where a cache on the way has set it`() {
    let rules = CacheRules()
    let direct = HTTPSemanticsTests.stored([HTTPField("Date", date(-5))])
    #expect(
      rules.fieldsToServe(direct, at: received, validated: true)
        == [HTTPField("Date", date(-5))])
    let cached = HTTPSemanticsTests.stored([HTTPField("Age", "30")])
    #expect(
      rules.fieldsToServe(cached, at: received, validated: true) == [HTTPField("Age", "30")])
  }

  @Test func `fields that no-cache names are left out until the response is validated`() {
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=5, no-cache=\"a, B\""), HTTPField("A", "1"),
      HTTPField("b", "2"), HTTPField("C", "3"),
    ]
    let response = HTTPSemanticsTests.stored(fields)
    let rules = CacheRules()
    #expect(
      names(rules.fieldsToServe(response, at: received, validated: false))
        == ["Cache-Control", "C", "Age"])
    #expect(rules.fieldsToServe(response, at: received, validated: true) == fields)
  }

  @Test func `Date and Expires are served as they were stored`() {
    let fields: HTTPFields = [HTTPField("Date", date(0)), HTTPField("Expires", date(5))]
    let served = CacheRules().fieldsToServe(
      HTTPSemanticsTests.stored(fields), at: later(100), validated: false)
    #expect(served.first(named: "Date") == fields.first)
    #expect(served.first(named: "Expires") == fields.last)
  }
}
