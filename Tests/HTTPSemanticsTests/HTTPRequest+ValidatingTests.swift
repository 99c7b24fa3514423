import HTTPSemantics
import Testing

struct HTTPRequestValidatingTests {
  private let tag = HTTPField("ETag", "\"a\"")
  private let lastModified = HTTPField("Last-Modified", "Wed, 01 Jan 2020 00:00:00 GMT")

  private func conditions(
    _ stored: [HTTPFields], _ request: HTTPFields = []
  ) throws -> [HTTPField] {
    let made = try Stored.get(request).validating(stored.map { Stored.response($0) })
    return Array(made.fields)
  }

  @Test func `a tag is asked about`() throws {
    #expect(try conditions([[tag]]) == [HTTPField("If-None-Match", "\"a\"")])
    let weak = HTTPField("ETag", "W/\"a\"")
    #expect(try conditions([[weak]]) == [HTTPField("If-None-Match", "W/\"a\"")])
  }

  @Test(arguments: [
    (200, true), (204, true), (206, true), (301, false), (404, false), (410, false),
  ])
  func `only a success is asked about`(status: Int, isAsked: Bool) throws {
    let stored = Stored.response([tag, lastModified], status: status)
    #expect(try !Stored.get().validating([stored]).fields.isEmpty == isAsked)
  }

  @Test func `a date is asked about byte by byte as it came`() throws {
    #expect(
      try conditions([[lastModified]])
        == [HTTPField("If-Modified-Since", "Wed, 01 Jan 2020 00:00:00 GMT")])
    let old = "Wednesday, 01-Jan-20 00:00:00 GMT"
    #expect(
      try conditions([[HTTPField("Last-Modified", old)]])
        == [HTTPField("If-Modified-Since", old)])
    #expect(try conditions([[HTTPField("Last-Modified", "yesterday")]]) == [])
  }

  @Test func `both validators of one response are sent`() throws {
    #expect(
      try conditions([[lastModified, tag]]).map(\.name) == ["If-None-Match", "If-Modified-Since"])
  }

  @Test func `of several responses only the tags are sent, each once`() throws {
    let other = HTTPField("ETag", "W/\"b\"")
    #expect(
      try conditions([[tag, lastModified], [other, lastModified], [tag], [lastModified]])
        == [HTTPField("If-None-Match", "\"a\", W/\"b\"")])
    #expect(try conditions([[lastModified], [lastModified]]) == [])
  }

  @Test func `a malformed tag is sent alone or not at all`() throws {
    let bare = HTTPField("ETag", "abc")
    #expect(try conditions([[bare]]) == [HTTPField("If-None-Match", "abc")])
    #expect(try conditions([[bare], [tag]]) == [HTTPField("If-None-Match", "\"a\"")])
    #expect(try conditions([[HTTPField("ETag", "a, *")]]) == [])
    #expect(try conditions([[HTTPField("ETag", "*")]]) == [])
  }

  @Test func `at most 32 tags are sent`() throws {
    let stored = (0..<40).map { [HTTPField("ETag", "\"\($0)\"")] as HTTPFields }
    let sent = try conditions(stored).map(\.text)
    #expect(sent.map { $0.split(separator: ",").count } == [32])
  }

  @Test func `own conditions give way and all other fields stay`() throws {
    let own: HTTPFields = [
      HTTPField("if-none-match", "\"x\""), HTTPField("Abc", "123"),
      HTTPField("If-Modified-Since", "x"), HTTPField("Range", "bytes=0-1"),
      HTTPField("If-Range", "\"x\""), HTTPField("Authorization", "FOO"),
    ]
    #expect(
      try conditions([[tag]], own).map(\.name)
        == ["Abc", "Range", "If-Range", "Authorization", "If-None-Match"])
  }

  @Test func `a copy is confirmed by both of its validators and no other condition`() throws {
    let other = HTTPField("A", "1")
    let own = [HTTPField("if-none-match", "\"x\""), other, HTTPField("If-Modified-Since", "x")]
    let request = try Stored.get(HTTPFields(own))
    #expect(
      request.confirming([lastModified, tag]).fields == [
        other, HTTPField("If-None-Match", "\"a\""),
        HTTPField("If-Modified-Since", lastModified.text),
      ])
    #expect(request.confirming([]).fields == [other])
  }

  @Test func `without a validator the request stays as it is`() throws {
    let request = try Stored.get([HTTPField("If-None-Match", "\"x\"")])
    #expect(request.validating([]) == request)
    #expect(request.validating([Stored.response([])]) == request)
  }
}
