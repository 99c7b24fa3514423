import HTTPSemantics
import Testing

struct PreconditionsTests {
  private func outcome(
    _ request: HTTPFields, _ stored: HTTPFields, status: Int = 200, method: HTTPMethod = .get
  ) throws -> Preconditions.Outcome {
    Preconditions.evaluate(
      try Stored.get(request, method: method), against: Stored.response(stored, status: status),
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
      let outcome = try outcome(request, [HTTPField("ETag", tag)], method: method)
      #expect(outcome == (isKnown ? .notModified : .proceed))
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
    let outcome = try outcome([HTTPField("If-Modified-Since", Stored.date(since))], stored)
    #expect(outcome == (isKnown ? .notModified : .proceed))
  }

  @Test(arguments: [
    "Wednesday, 01-Jan-20 12:00:00 GMT", "Wed Jan  1 12:00:00 2020",
    "Wed, 01 Jan 2020 12:00:00 GMT",
  ])
  func `If-Modified-Since has three formats`(since: String) throws {
    let stored: HTTPFields = [HTTPField("Last-Modified", Stored.date(0))]
    #expect(try outcome([HTTPField("If-Modified-Since", since)], stored) == .notModified)
    let later: HTTPFields = [HTTPField("Last-Modified", Stored.date(1))]
    #expect(try outcome([HTTPField("If-Modified-Since", since)], later) == .proceed)
  }

  @Test func `without Last-Modified the Date counts, and without that the time of receipt`() throws
  {
    let dated: HTTPFields = [HTTPField("Date", Stored.date(-100))]
    let since = { HTTPField("If-Modified-Since", Stored.date($0)) }
    #expect(try outcome([since(-100)], dated) == .notModified)
    #expect(try outcome([since(-101)], dated) == .proceed)
    #expect(try outcome([since(0)], []) == .notModified)
    #expect(try outcome([since(-1)], []) == .proceed)
  }

  @Test func `an If-Modified-Since that is no date or there twice is ignored`() throws {
    let stored: HTTPFields = [HTTPField("Last-Modified", Stored.date(-3000))]
    let since = HTTPField("If-Modified-Since", Stored.date(0))
    #expect(try outcome([HTTPField("If-Modified-Since", "x")], stored) == .proceed)
    #expect(try outcome([since, since], stored) == .proceed)
  }

  @Test func `If-None-Match goes before If-Modified-Since`() throws {
    let stored: HTTPFields = [
      HTTPField("ETag", "\"a\""), HTTPField("Last-Modified", Stored.date(-3000)),
    ]
    let later = HTTPField("If-Modified-Since", Stored.date(0))
    let earlier = HTTPField("If-Modified-Since", Stored.date(-6000))
    #expect(try outcome([later, HTTPField("If-None-Match", "\"b\"")], stored) == .proceed)
    #expect(try outcome([earlier, HTTPField("If-None-Match", "\"a\"")], stored) == .notModified)
    // Also where there is no tag to compare with.
    let untagged: HTTPFields = [HTTPField("Last-Modified", Stored.date(-3000))]
    #expect(try outcome([later, HTTPField("If-None-Match", "\"a\"")], untagged) == .proceed)
  }

  @Test func `conditions count only where the answer would be a 2xx`() throws {
    let tag: HTTPFields = [HTTPField("ETag", "\"a\"")]
    let request: HTTPFields = [HTTPField("If-None-Match", "\"a\"")]
    #expect(try outcome(request, tag, status: 203) == .notModified)
    #expect(try outcome(request, tag, status: 301) == .proceed)
    #expect(try outcome(request, tag, status: 404) == .proceed)
    #expect(try outcome(request, tag, method: HTTPMethod(rawValue: "POST")) == .proceed)
    #expect(try outcome([HTTPField("Foo", "\"a\"")], tag) == .proceed)
  }

  @Test(arguments: ["If-Match", "If-Unmodified-Since", "If-Range"])
  func `conditions that are not for caches are not evaluated`(name: String) throws {
    let stored: HTTPFields = [
      HTTPField("ETag", "\"a\""), HTTPField("Last-Modified", Stored.date(-3000)),
    ]
    for value in ["\"a\"", "\"b\"", "*", Stored.date(0), Stored.date(-6000)] {
      #expect(try outcome([HTTPField(name, value)], stored) == .proceed)
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
      "Last-Modified",
    ].map { HTTPField($0, "x") }
    #expect(Preconditions.notModifiedFields(of: HTTPFields(content + fields)) == fields)
  }

  @Test func `a 304 without a tag tells the date`() {
    let fields: HTTPFields = [HTTPField("Last-Modified", Stored.date(0))]
    #expect(Preconditions.notModifiedFields(of: fields) == fields)
  }
}
