import HTTPSemantics
import Testing

/// Gives the caching rules very long lines and messages of ten thousand fields. A step that
/// takes quadratic time would take billions of them here.
struct HostileRulesTests {
  private static let pieces = [
    ",", "\"", "\\\"", "max-age=1,", "no-cache=\"a\",", "private=\"", "a=\"b\",", "x", "=", "9",
    " ", "\u{0}", "\r\n", "é", "(", ";a", "s-maxage=\"1\"",
  ]

  @Test(arguments: pieces)
  func `a very long line hides no directive that follows`(piece: String) throws {
    // More than the limit of structured fields, so that the targeted field never counts.
    let length = 2 * StructuredDictionary.maximumLength
    let junk = String(repeating: piece, count: length / piece.utf8.count)
    let line = HTTPField("Cache-Control", junk + ", no-store")
    let fields: HTTPFields = [
      line, HTTPField("CDN-Cache-Control", junk), HTTPField("Age", junk), HTTPField("Date", junk),
      HTTPField("Expires", junk), HTTPField("Vary", junk), HTTPField("Pragma", junk),
    ]
    let request = HTTPRequest(url: try NormalizedURL("http://a/"), fields: fields)
    let rules = CacheRules.reverse
    let head = HTTPResponseHead(status: 200, fields: fields)
    #expect(rules.whyNotStored(request, head, now: received) == .noStoreRequest)
    let response = stored(rules.fieldsToStore(fields, receivedAt: received), rules: rules)
    #expect(response.facts.directives.noStore && !response.facts.directives.isTargeted)
    #expect(response.facts.expires == .invalid && response.facts.date == nil)
    #expect(
      rules.reuse(of: response, for: RequestDirectives(), at: received) == .mustValidate(.noCache))
  }

  @Test func `ten thousand fields are stored and served`() throws {
    var fields: HTTPFields = [HTTPField("Cache-Control", "max-age=60")]
    for index in 0..<10_000 {
      fields.append(HTTPField("X-\(index)", "\(index)"))
      fields.append(HTTPField("Connection", "X-\(index * 2)"))
      fields.append(HTTPField("Cache-Control", "private=\"X-\(index)\""))
    }
    let request = HTTPRequest(url: try NormalizedURL("http://a/"))
    let head = HTTPResponseHead(status: 200, fields: fields)
    let rules = CacheRules()
    #expect(rules.whyNotStored(request, head, now: received) == nil)
    // More field names than the limit count as the whole response.
    #expect(CacheRules.shared.whyNotStored(request, head, now: received) == .privateResponse)
    let kept = rules.fieldsToStore(fields, receivedAt: received)
    #expect(kept.count { $0.name.hasPrefix("X-") } == 5000)
    let served = rules.fieldsToServe(stored(kept), at: later(5), validated: false)
    #expect(served.count == kept.count + 1)
    #expect(served.last == HTTPField("Age", "5"))
  }
}
