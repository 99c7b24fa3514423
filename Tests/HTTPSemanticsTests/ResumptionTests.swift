import Testing

@testable import HTTPSemantics

struct ResumptionTests {
  private let now = HTTPDate(seconds: 1_800_000_000)
  private let request: HTTPRequest

  init() throws {
    request = HTTPRequest(url: try NormalizedURL("http://example.org/big"))
  }

  private func resumption(
    _ fields: HTTPFields = [HTTPField("ETag", "\"a\"")], offset: UInt64 = 100,
    length: UInt64? = 1000
  ) -> Resumption? {
    Resumption(of: fields, offset: offset, completeLength: length, now: now)
  }

  @Test(arguments: [
    [HTTPField("ETag", "W/\"a\"")], [HTTPField("ETag", "a")], [],
    [HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:59:59 GMT")],
    [
      HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:59:59 GMT"),
      HTTPField("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ],
    // A date beside a weak tag does not make up for it.
    [
      HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:00:00 GMT"),
      HTTPField("Date", "Fri, 15 Jan 2027 08:00:00 GMT"), HTTPField("ETag", "W/\"a\""),
    ],
  ])
  func `without a strong validator nothing is resumed`(fields: [HTTPField]) {
    #expect(resumption(HTTPFields(fields)) == nil)
    #expect(!Resumption.isPossible(HTTPFields(fields), now: now))
  }

  @Test func `of stored parts only a beginning that lacks bytes is resumed`() {
    #expect(Resumption(after: Stored.part("0-8/10")) != nil)
    for other in ["0-9/10", "1-8/10", "0-8/*"] {
      #expect(Resumption(after: Stored.part(other)) == nil, "\(other)")
    }
    #expect(Resumption(after: Stored.part("0-8/10", tag: "W/\"a\"")) == nil)
  }

  @Test func `without bytes there is nothing to go on with`() {
    #expect(resumption(offset: 0) == nil)
  }

  @Test func `the request asks for the rest, under the condition of the validator`() throws {
    var asked = request
    asked.fields = [
      HTTPField("Range", "bytes=0-"), HTTPField("If-None-Match", "\"x\""),
      HTTPField("If-Match", "\"x\""), HTTPField("If-Modified-Since", "x"),
      HTTPField("If-Unmodified-Since", "x"), HTTPField("If-Range", "\"x\""),
      HTTPField("Accept", "*/*"),
    ]
    let resumption = try #require(self.resumption())
    #expect(
      resumption.request(asked).fields == [
        HTTPField("Accept", "*/*"), HTTPField("Range", "bytes=100-"),
        HTTPField("If-Range", "\"a\""),
      ])
  }

  @Test func `a date that is old enough is a validator`() throws {
    let date = "Fri, 15 Jan 2027 07:00:00 GMT"
    let fields: HTTPFields = [
      HTTPField("Last-Modified", date), HTTPField("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ]
    let resumption = try #require(self.resumption(fields))
    #expect(resumption.request(request).fields.first(named: "If-Range")?.text == date)
    var answer = HTTPResponseHead(status: 206, fields: fields)
    answer.fields.append(HTTPField("Content-Range", "bytes 100-999/1000"))
    #expect(resumption.judge(answer) == .goOn(end: 1000, completeLength: 1000))
  }

  @Test(arguments: [
    (206, "bytes 100-999/1000", "\"a\"", Resumption.Answer.goOn(end: 1000, completeLength: 1000)),
    (206, "bytes 100-499/1000", "\"a\"", .goOn(end: 500, completeLength: 1000)),
    (206, "bytes 100-999/*", "\"a\"", .goOn(end: 1000, completeLength: 1000)),
    (206, "bytes 100-1000/*", "\"a\"", .askForWhole),
    (206, "bytes 99-999/1000", "\"a\"", .askForWhole),
    (206, "bytes 101-999/1000", "\"a\"", .askForWhole),
    (206, "bytes 0-999/1000", "\"a\"", .askForWhole),
    (206, "bytes 100-999/1001", "\"a\"", .askForWhole),
    (206, "bytes 100-999/1000", "\"b\"", .askForWhole),
    (206, "bytes 100-999/1000", "W/\"a\"", .askForWhole),
    (206, "bytes 100-999/1000", "", .askForWhole),
    (206, "", "\"a\"", .askForWhole),
    (206, "pages 1-2/3", "\"a\"", .askForWhole),
    (200, "", "\"b\"", .startOver),
    (200, "bytes 100-999/1000", "\"a\"", .startOver),
    (416, "bytes */1000", "\"a\"", .askForWhole),
    (304, "", "\"a\"", .askForWhole), (412, "", "", .askForWhole),
    (404, "", "", .refused), (503, "", "", .refused),
  ])
  func `only bytes that surely belong to it are taken`(
    status: Int, range: String, tag: String, expected: Resumption.Answer
  ) throws {
    var head = HTTPResponseHead(status: status)
    if !range.isEmpty { head.fields.append(HTTPField("Content-Range", range)) }
    if !tag.isEmpty { head.fields.append(HTTPField("ETag", tag)) }
    let resumption = try #require(self.resumption())
    #expect(resumption.judge(head) == expected)
  }

  @Test(arguments: [
    HTTPField("Content-Encoding", "gzip"), HTTPField("Content-Length", "901"),
    HTTPField("Content-Length", "899"),
    HTTPField("Content-Type", "multipart/byteranges; boundary=x"),
    HTTPField("Content-Range", "bytes 100-999/1000"),
  ])
  func `a part that contradicts itself is not taken`(field: HTTPField) throws {
    let resumption = try #require(self.resumption())
    var head = HTTPResponseHead(
      status: 206,
      fields: [HTTPField("ETag", "\"a\""), HTTPField("Content-Range", "bytes 100-999/1000")])
    #expect(resumption.judge(head) == .goOn(end: 1000, completeLength: 1000))
    head.fields.append(field)
    #expect(resumption.judge(head) == .askForWhole)
  }

  @Test func `where nobody knows the length, no part is taken for the last one`() throws {
    let head = HTTPResponseHead(
      status: 206,
      fields: [HTTPField("ETag", "\"a\""), HTTPField("Content-Range", "bytes 100-299/*")])
    let resumption = try #require(self.resumption(length: nil))
    #expect(resumption.judge(head) == .askForWhole)
  }

  @Test(arguments: [
    ("bytes */100", Resumption.Answer.confirmWhole), ("bytes */101", .askForWhole),
    ("bytes */*", .askForWhole), ("", .askForWhole),
  ])
  func `a 416 says that all bytes are there`(range: String, expected: Resumption.Answer) throws {
    var head = HTTPResponseHead(status: 416)
    if !range.isEmpty { head.fields.append(HTTPField("Content-Range", range)) }
    #expect(try #require(resumption(length: nil)).judge(head) == expected)
    #expect(try #require(resumption()).judge(head) == .askForWhole)
  }

  @Test func `a length that was not known is learnt`() throws {
    let head = HTTPResponseHead(
      status: 206,
      fields: [HTTPField("ETag", "\"a\""), HTTPField("Content-Range", "bytes 100-299/300")])
    let resumption = try #require(self.resumption(length: nil))
    #expect(resumption.judge(head) == .goOn(end: 300, completeLength: 300))
  }
}
