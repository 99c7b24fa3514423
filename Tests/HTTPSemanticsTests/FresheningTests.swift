import HTTPSemantics
import Testing

struct FresheningTests {
  private let date = HTTPField("Date", Stored.date(0))

  private func freshened(_ stored: HTTPFields, _ update: HTTPFields) -> HTTPFields {
    Freshening.freshened(stored, by: update, receivedAt: Stored.noon)
  }

  @Test(arguments: [
    "Test-Header", "X-Test-Header", "Cache-Control", "Expires", "ETag", "Last-Modified", "Vary",
    "Content-Type", "Content-Location", "Content-MD5", "Content-Security-Policy", "X-Content-Foo",
    "Clear-Site-Data", "X-Frame-Options", "Set-Cookie", "Content-Foo",
  ])
  func `a newer field takes the place of the stored one`(name: String) {
    let update: HTTPFields = [HTTPField(name, "new"), date]
    #expect(freshened([HTTPField(name, "old")], update) == update)
    #expect(freshened([], update) == update)
  }

  @Test(arguments: ["Content-Length", "content-encoding", "Content-Range", "Content-Digest"])
  func `fields that are bound to the stored bytes stay`(name: String) {
    let stored: HTTPFields = [HTTPField(name, "old")]
    let update: HTTPFields = [HTTPField(name, "new"), date]
    #expect(freshened(stored, update) == HTTPFields(stored + [date]))
    #expect(freshened([], update) == [date])
  }

  @Test(arguments: [
    "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Trailer", "Foo",
  ])
  func `fields that are never stored do not come in`(name: String) {
    let update: HTTPFields = [HTTPField("Connection", "foo"), HTTPField(name, "new"), date]
    #expect(freshened([], update) == [date])
  }

  @Test func `fields that the newer message has not stay in their order`() {
    let stored: HTTPFields = [HTTPField("A", "1"), HTTPField("B", "1"), HTTPField("A", "2")]
    #expect(freshened(stored, [date]) == HTTPFields(stored + [date]))
  }

  @Test func `all lines of a name are replaced by all lines of it`() {
    let stored: HTTPFields = [HTTPField("A", "1"), HTTPField("B", "1"), HTTPField("a", "2")]
    let update: HTTPFields = [HTTPField("A", "3"), HTTPField("a", "4"), date]
    #expect(freshened(stored, update) == HTTPFields([HTTPField("B", "1")] + update))
  }

  @Test func `Age and Date tell of the newer message alone`() {
    let stored: HTTPFields = [HTTPField("Age", "500"), HTTPField("Date", Stored.date(-500))]
    #expect(freshened(stored, []) == [date])
    let update: HTTPFields = [HTTPField("Age", "7"), HTTPField("Date", Stored.date(-7))]
    #expect(freshened(stored, update) == update)
  }

  private func chosen(_ stored: [HTTPFields], _ update: HTTPFields) -> [Int] {
    Freshening.chosen(
      from: stored.map { Stored.response($0) }, by: update, now: Stored.noon)
  }

  private func dated(_ tag: String?, _ lastModified: Int64?, at date: Int64 = 0) -> HTTPFields {
    var fields: HTTPFields = [HTTPField("Date", Stored.date(date))]
    if let tag { fields.append(HTTPField("ETag", tag)) }
    if let lastModified { fields.append(HTTPField("Last-Modified", Stored.date(lastModified))) }
    return fields
  }

  @Test func `a strong tag updates all responses that have it, and no other`() {
    let stored = [
      dated("\"a\"", nil, at: -9), dated("\"b\"", nil), dated("\"a\"", nil, at: -5),
      dated("W/\"a\"", nil),
    ]
    #expect(chosen(stored, dated("\"a\"", nil)) == [2, 0])
    #expect(chosen(stored, dated("\"b\"", nil)) == [1])
    #expect(chosen(stored, dated("\"c\"", nil)) == [])
    #expect(chosen([stored[3]], dated("\"a\"", nil)) == [])
    // An equal date does not make another tag the same.
    #expect(chosen([dated("\"a\"", -3000)], dated("\"b\"", -3000)) == [])
  }

  @Test func `a strong date updates responses that have it`() {
    let stored = [dated(nil, -3000, at: -9), dated(nil, -4000), dated(nil, -3000, at: -5)]
    #expect(chosen(stored, dated(nil, -3000)) == [2, 0])
    #expect(chosen(stored, dated(nil, -5000)) == [])
    #expect(chosen([dated("\"a\"", -3000)], dated(nil, -3000)) == [0])
  }

  @Test func `a weak validator updates the latest response that has it`() {
    let stored = [
      dated("W/\"a\"", nil, at: -9), dated("\"a\"", nil, at: -5), dated("W/\"b\"", nil),
    ]
    #expect(chosen(stored, dated("W/\"a\"", nil)) == [1])
    #expect(chosen(stored, dated("W/\"c\"", nil)) == [])
    let byDate = [dated(nil, -30, at: -9), dated(nil, -30, at: -5), dated(nil, -20)]
    #expect(chosen(byDate, dated(nil, -30)) == [1])
    #expect(chosen([dated("a", nil)], dated("a", nil)) == [0])
    #expect(chosen([dated("W/\"a\"", -30)], dated("W/\"b\"", -30)) == [])
  }

  @Test func `without validators only the one response that was asked about is meant`() {
    #expect(chosen([[date]], [date]) == [0])
    #expect(chosen([dated("\"a\"", nil)], [date]) == [0])
    #expect(chosen([[date], [date]], [date]) == [])
    #expect(chosen([], [date]) == [])
    #expect(chosen([], dated("\"a\"", nil)) == [])
  }

  @Test func `a strong form of the weak tag that was asked about confirms without updating`() {
    let stored = [dated("W/\"a\"", nil), dated("W/\"b\"", nil), dated(nil, -3000)]
    let confirmed = { (stored: [HTTPFields], update: HTTPFields) in
      Freshening.confirmed(from: stored.map { Stored.response($0) }, by: update)
    }
    #expect(chosen(stored, dated("\"b\"", nil)) == [])
    #expect(confirmed(stored, dated("\"b\"", nil)) == 1)
    #expect(confirmed(stored, dated("\"c\"", nil)) == nil)
    #expect(confirmed(stored, dated(nil, -3000)) == nil)
    #expect(confirmed(stored + [dated("\"b\"", nil)], dated("\"b\"", nil)) == nil)
    #expect(confirmed([dated("a", nil)], dated("a", nil)) == nil)
  }

  private func outcome(
    _ head: HTTPFields, _ stored: HTTPFields, headStatus: Int = 200, status: Int = 200
  ) -> Freshening.Outcome {
    Freshening.outcome(
      of: HTTPResponseHead(status: headStatus, fields: head),
      for: Stored.response(stored, status: status), bodyLength: 10)
  }

  @Test func `an answer to HEAD with the same validators freshens`() {
    let stored = dated("\"a\"", -3000)
    #expect(outcome(stored, stored) == .freshen)
    #expect(outcome([HTTPField("ETag", "\"a\"")], stored) == .freshen)
    #expect(outcome(dated(nil, -3000), stored) == .freshen)
  }

  @Test func `an answer to HEAD without a validator says nothing`() {
    let stored = dated("\"a\"", -3000)
    #expect(outcome([], stored) == .nothing)
    #expect(outcome([HTTPField("Content-Length", "10")], stored) == .nothing)
    #expect(outcome([HTTPField("Content-Length", "10")], []) == .nothing)
  }

  @Test func `an answer to HEAD with another validator or length invalidates`() {
    let stored = dated("\"a\"", -3000)
    #expect(outcome(dated("\"b\"", -3000), stored) == .invalidate)
    #expect(outcome(dated("W/\"a\"", -3000), stored) == .invalidate)
    #expect(outcome(dated("\"a\"", -3001), stored) == .invalidate)
    #expect(outcome([HTTPField("ETag", "\"a\"")], []) == .invalidate)
    #expect(outcome([HTTPField("Content-Length", "11")], stored) == .invalidate)
    #expect(outcome([HTTPField("Content-Length", "x")], stored) == .invalidate)
  }

  @Test func `the length of a part is that of its whole`() {
    let range = HTTPField("Content-Range", "bytes 0-9/100")
    let open = HTTPField("Content-Range", "bytes 0-9/*")
    let tag = HTTPField("ETag", "\"a\"")
    let whole: HTTPFields = [tag, HTTPField("Content-Length", "100")]
    #expect(outcome(whole, [tag, range], status: 206) == .freshen)
    #expect(outcome([HTTPField("Content-Length", "10")], [tag, range], status: 206) == .invalidate)
    #expect(outcome(whole, [tag, open], status: 206) == .freshen)
  }

  @Test func `a part is of another version by its tag, its date or its complete length`() {
    let stored = dated("\"a\"", -3000)
    func part(_ fields: HTTPFields, of length: String = "10", _ stored: HTTPFields) -> Bool {
      let range = HTTPField("Content-Range", "bytes 0-4/\(length)")
      let length = HTTPField("Content-Length", "5")
      return outcome(HTTPFields(fields + [range, length]), stored, headStatus: 206) == .invalidate
    }
    #expect(!part(stored, stored) && !part([], stored) && !part([], of: "*", stored))
    #expect(!part(dated("W/\"a\"", nil), stored), "weak tags are for coded wholes alone")
    #expect(part(dated("\"b\"", -3000), stored) && part(dated("\"a\"", -3001), stored))
    #expect(part(dated("\"a\"", nil), dated(nil, -3000)))
    #expect(part([], of: "11", stored))
    // Its coding may make it longer.
    #expect(!part([], of: "11", HTTPFields(stored + [HTTPField("Content-Encoding", "gzip")])))
  }

  @Test(arguments: [204, 304, 404, 410, 500])
  func `any other status of HEAD says nothing`(status: Int) {
    #expect(outcome([HTTPField("ETag", "\"b\"")], [], headStatus: status) == .nothing)
  }

  @Test func `HEAD says nothing about a stored redirect or error`() {
    #expect(outcome([HTTPField("ETag", "\"b\"")], [], status: 404) == .nothing)
  }
}
