import HTTPSemantics
import Testing

struct PreconditionsTests {
  private func isNotModified(
    _ request: HTTPFields, _ stored: HTTPFields, status: Int = 200, method: HTTPMethod = .get
  ) throws -> Bool {
    Preconditions.isNotModified(
      Stored.response(stored, status: status), for: try Stored.get(request, method: method),
      now: Stored.noon)
  }

  @Test(arguments: [
    // The tag that is stored, and the lines of If-None-Match.
    ("\"a\"", ["\"a\""], true), ("\"a\"", ["\"b\""], false), ("\"a\"", ["W/\"a\""], true),
    ("W/\"a\"", ["\"a\""], true), ("W/\"a\"", ["W/\"a\""], true),
    ("\"a\"", ["\"a\", \"b\""], true), ("\"a\"", ["\"1\", \"a\", \"b\""], true),
    ("\"a\"", ["\"b\", \"a\""], true), ("\"a\"", ["\"b\",\"a\""], true),
    ("\"a\"", ["\"b\"", "\"a\""], true), ("\"a\"", ["\"b, \"a\""], false),
    ("\"a,b\"", ["\"a,b\""], true), ("\"b\"", ["\"a, \"b\", c\""], false),
    ("\"a\"", ["*"], true), ("\"a\"", [""], false), ("\"a\"", ["a"], false),
    ("a", ["\"a\""], false),
    // Malformed ones that are the same bytes.
    ("a", ["a"], true), ("w/\"a\"", ["w/\"a\""], true), ("W\"a\"", ["W\"a\""], true),
    ("", ["\"\""], false), ("", ["*"], true),
  ])
  func `If-None-Match is compared weakly`(tag: String, lines: [String], isKnown: Bool) throws {
    let request = HTTPFields(lines.map { HTTPField("If-None-Match", $0) })
    for method in [HTTPMethod.get, .head] {
      let outcome = try isNotModified(request, [HTTPField("ETag", tag)], method: method)
      #expect(outcome == isKnown)
    }
  }

  @Test(
    arguments: [
      (-3000, -3000, true), (-3000, -2000, true), (-3000, -3001, false), (-3000, 5000, true),
    ] as [(Int64, Int64, Bool)])
  func `If-Modified-Since is compared with Last-Modified`(
    lastModified: Int64, since: Int64, isKnown: Bool
  ) throws {
    let stored: HTTPFields = [
      HTTPField("Last-Modified", Stored.date(lastModified)), HTTPField("Date", Stored.date(0)),
    ]
    let outcome = try isNotModified([HTTPField("If-Modified-Since", Stored.date(since))], stored)
    #expect(outcome == isKnown)
  }

  @Test(arguments: [
    "Wednesday, 01-Jan-20 12:00:00 GMT", "Wed Jan  1 12:00:00 2020",
    "Wed, 01 Jan 2020 12:00:00 GMT",
  ])
  func `If-Modified-Since has three formats`(since: String) throws {
    let stored: HTTPFields = [HTTPField("Last-Modified", Stored.date(0))]
    #expect(try isNotModified([HTTPField("If-Modified-Since", since)], stored) == true)
    let later: HTTPFields = [HTTPField("Last-Modified", Stored.date(1))]
    #expect(try isNotModified([HTTPField("If-Modified-Since", since)], later) == false)
  }

  @Test func `without Last-Modified the Date counts, and without that the time of receipt`() throws
  {
    let dated: HTTPFields = [HTTPField("Date", Stored.date(-100))]
    let since = { HTTPField("If-Modified-Since", Stored.date($0)) }
    #expect(try isNotModified([since(-100)], dated) == true)
    #expect(try isNotModified([since(-101)], dated) == false)
    #expect(try isNotModified([since(0)], []) == true)
    #expect(try isNotModified([since(-1)], []) == false)
  }

  @Test func `an If-Modified-Since that is no date or there twice is ignored`() throws {
    let stored: HTTPFields = [HTTPField("Last-Modified", Stored.date(-3000))]
    let since = HTTPField("If-Modified-Since", Stored.date(0))
    #expect(try isNotModified([HTTPField("If-Modified-Since", "x")], stored) == false)
    #expect(try isNotModified([since, since], stored) == false)
  }

  @Test func `If-None-Match goes before If-Modified-Since`() throws {
    let stored: HTTPFields = [
      HTTPField("ETag", "\"a\""), HTTPField("Last-Modified", Stored.date(-3000)),
    ]
    let later = HTTPField("If-Modified-Since", Stored.date(0))
    let earlier = HTTPField("If-Modified-Since", Stored.date(-6000))
    #expect(try isNotModified([later, HTTPField("If-None-Match", "\"b\"")], stored) == false)
    #expect(try isNotModified([earlier, HTTPField("If-None-Match", "\"a\"")], stored) == true)
    // Also where there is no tag to compare with.
    let untagged: HTTPFields = [HTTPField("Last-Modified", Stored.date(-3000))]
    #expect(try isNotModified([later, HTTPField("If-None-Match", "\"a\"")], untagged) == false)
  }

  @Test func `conditions count only where the answer would be a 2xx`() throws {
    let tag: HTTPFields = [HTTPField("ETag", "\"a\"")]
    let request: HTTPFields = [HTTPField("If-None-Match", "\"a\"")]
    #expect(try isNotModified(request, tag, status: 203) == true)
    #expect(try isNotModified(request, tag, status: 301) == false)
    #expect(try isNotModified(request, tag, status: 404) == false)
    #expect(try isNotModified(request, tag, method: HTTPMethod(rawValue: "POST")) == false)
    #expect(try isNotModified([HTTPField("Foo", "\"a\"")], tag) == false)
  }

  @Test(arguments: ["If-Match", "If-Unmodified-Since", "If-Range"])
  func `conditions that are not for caches are not evaluated`(name: String) throws {
    let stored: HTTPFields = [
      HTTPField("ETag", "\"a\""), HTTPField("Last-Modified", Stored.date(-3000)),
    ]
    for value in ["\"a\"", "\"b\"", "*", Stored.date(0), Stored.date(-6000)] {
      #expect(try isNotModified([HTTPField(name, value)], stored) == false)
    }
  }

  @Test func `a 304 has what a 200 would have but for what describes content`() {
    let fields: HTTPFields = [
      HTTPField("Content-Location", "/x"), HTTPField("Date", "d"), HTTPField("ETag", "\"a\""),
      HTTPField("Vary", "Foo"), HTTPField("Cache-Control", "max-age=1"), HTTPField("Expires", "e"),
      HTTPField("Age", "1"), HTTPField("Content-Security-Policy", "x"), HTTPField("A", "1"),
    ]
    let content = [
      "content-type", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
      "Content-MD5", "Content-Digest", "Trailer", "Last-Modified",
    ].map { HTTPField($0, "x") }
    #expect(Preconditions.notModifiedFields(of: HTTPFields(content + fields)) == fields)
  }

  @Test func `a 304 without a tag tells the date`() {
    let fields: HTTPFields = [HTTPField("Last-Modified", Stored.date(0))]
    #expect(Preconditions.notModifiedFields(of: fields) == fields)
  }
}
