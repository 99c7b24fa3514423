import HTTPSemantics
import Testing

@testable import HTTPTransports

struct HTTPFieldsCookiesTests {
  @Test(arguments: ["Cookie", "accept , COOKIE\t,a", "*, cookie"])
  func `what cookies select is not stored by a cache that does not see them`(vary: String) {
    let fields: HTTPFields = [HTTPField("A", "b"), HTTPField("vary", "a"), HTTPField("Vary", vary)]
    let concealed = fields.concealingCookies
    #expect(concealed.all(named: "Vary").map(\.text) == ["*"])
    #expect(concealed.first(named: "A")?.text == "b")
  }

  @Test(arguments: ["", "Accept", "Cookies", "Set-Cookie", "a cookie", "*"])
  func `other fields stay as they are`(vary: String) {
    let fields: HTTPFields = [HTTPField("Vary", vary), HTTPField("Cookie", "a")]
    #expect(fields.concealingCookies == fields)
  }
}
