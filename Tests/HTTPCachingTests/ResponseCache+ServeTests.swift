import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheServeTests {
  private let whole = content(1000)
  private let fresh: HTTPFields = [
    HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", "\"1\""),
    HTTPField("Content-Type", "text/plain"),
  ]

  @Test func `what is stored is served with its own fields, its length and its age`() throws {
    let sandbox = try CacheSandbox()
    var fields = fresh
    fields.append(HTTPField("X-A", "1"))
    fields.append(HTTPField(name: "x-a", value: [0xFF, 0x80]))
    fields.append(HTTPField("Connection", "X-Hop"))
    fields.append(HTTPField("X-Hop", "1"))
    try sandbox.load(request(), head(203, fields), whole)
    let served = try #require(try sandbox.served(request(), at: 7))
    #expect(served.body == whole)
    #expect(served.head.status == 203)
    #expect(served.value("Age") == "7")
    #expect(served.value("Content-Length") == "1000")
    #expect(served.head.fields.all(named: "X-A").map(\.value) == [[0x31], [0xFF, 0x80]])
    #expect(served.value("X-Hop") == nil)
    #expect(served.value("Date") == "Fri, 15 Jan 2027 08:00:00 GMT")
  }

  @Test func `a 204 has no length, and a repeated length is told once`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request("/none"), head(204, fresh), [])
    #expect(try sandbox.served(request("/none"))?.value("Content-Length") == nil)
    let length = HTTPField("Content-Length", "1000")
    try sandbox.load(request(), head(200, fresh + [length, length]), whole)
    #expect(try sandbox.served(request())?.head.fields.all(named: "Content-Length") == [length])
  }

  @Test func `HEAD is answered with the head of what GET has loaded`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fresh), whole)
    let served = try #require(try sandbox.served(request(method: "HEAD")))
    #expect(served.body.isEmpty)
    #expect(served.value("Content-Length") == "1000")
  }

  @Test(arguments: [1000, 300_000, 20_000_000])
  func `ranges are cut out of a whole body of any size`(size: Int) throws {
    let sandbox = try CacheSandbox()
    let body = content(size)
    try sandbox.load(request(), head(200, fresh), body)
    let cases: [(String, Range<Int>)] = [
      ("0-0", 0..<1), ("5-9", 5..<10), ("\(size - 10)-", size - 10..<size),
      ("-10", size - 10..<size), ("-\(5 * size)", 0..<size),
      ("\(size - 1)-\(5 * size)", size - 1..<size), ("0-\(size - 1)", 0..<size),
      ("\(size / 3)-\(size / 2)", size / 3..<size / 2 + 1),
    ]
    for (range, expected) in cases {
      let served = try #require(try sandbox.served(ranged(range)))
      #expect(served.head.status == 206)
      #expect(served.body == Array(body[expected]), "\(range)")
      let last = expected.upperBound - 1
      #expect(served.value("Content-Range") == "bytes \(expected.lowerBound)-\(last)/\(size)")
      #expect(served.value("Content-Length") == "\(expected.count)")
    }
  }

  @Test
  func `a range that cannot be had is 416 with the length, one that is not understood the whole`()
    throws
  {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fresh), whole)
    let beyond = try #require(try sandbox.served(ranged("1000-")))
    #expect(beyond.head.status == 416)
    #expect(beyond.value("Content-Range") == "bytes */1000")
    #expect(beyond.body.isEmpty)
    for odd in ["5-1", "x", "0-1,5-6", "--1", "18446744073709551616-"] {
      let served = try sandbox.served(ranged(odd))
      #expect(served?.head.status == 200 || odd.hasPrefix("1844"), "\(odd)")
      if served?.head.status == 200 { #expect(served?.body == whole) }
    }
    let empty = try CacheSandbox()
    try empty.load(request(), head(200, fresh), [])
    #expect(try empty.served(ranged("0-"))?.head.status == 416)
  }

  @Test func `If-Range decides between part and whole`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fresh), whole)
    for (value, status) in [("\"1\"", 206), ("\"2\"", 200), ("W/\"1\"", 200), ("x", 200)] {
      let served = try sandbox.served(ranged("0-9", [HTTPField("If-Range", value)]))
      #expect(served?.head.status == status, "\(value)")
      #expect(served?.body == (status == 206 ? Array(whole[0..<10]) : whole))
    }
  }

  @Test func `a stored part answers what lies in it, and nothing else`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.loadPart(100...199, of: whole)
    #expect(try sandbox.served(ranged("100-199"))?.body == Array(whole[100..<200]))
    #expect(try sandbox.served(ranged("150-160"))?.body == Array(whole[150...160]))
    for other in ["99-150", "150-200", "0-9", "-10", "100-"] {
      #expect(try sandbox.served(ranged(other)) == nil, "\(other)")
      #expect(
        words(sandbox.decide(ranged(other))) == "forward: other parts of it are stored", "\(other)")
    }
    #expect(words(sandbox.decide(request())) == "forward: other parts of it are stored")
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules))
    #expect(!forwarding.request.fields.contains("If-None-Match"))
  }

  @Test func `parts with one strong validator are joined, up to the whole`() throws {
    let sandbox = try CacheSandbox()
    for range in [400...699, 0...99, 100...450, 700...999] {
      try sandbox.loadPart(range, of: whole, [HTTPField("Content-Digest", "sha-256=:AAAA:")])
    }
    #expect(try sandbox.served(ranged("50-820"))?.body == Array(whole[50...820]))
    let all = try #require(try sandbox.served(request()))
    #expect(all.head.status == 200)
    #expect(all.body == whole)
    #expect(all.value("Content-Range") == nil && all.value("Content-Digest") == nil)
    #expect(all.value("Content-Length") == "1000")
    #expect(try sandbox.served(ranged("-1"))?.body == [whole[999]])
    #expect(try sandbox.served(request(method: "HEAD"))?.value("Content-Length") == "1000")
  }

  @Test func `a part that is shorter than it tells is not served beyond its bytes`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(ranged("0-499"), head(206, partFields(0...499)), Array(whole[..<400]))
    #expect(try sandbox.served(ranged("0-399"))?.body == Array(whole[..<400]))
    #expect(try sandbox.served(ranged("0-400")) == nil)
  }

  @Test func `large parts are joined from their files`() throws {
    let sandbox = try CacheSandbox()
    let body = content(600_000)
    for range in [0...299_999, 300_000...599_999] {
      try sandbox.loadPart(range, of: body, length: "600000")
    }
    #expect(try sandbox.served(request())?.body == body)
    #expect(
      try sandbox.served(ranged("299990-300009"))?.body == Array(body[299_990...300_009]))
  }

  @Test(
    arguments: [("\"1\"", "\"2\""), ("W/\"1\"", "W/\"1\""), (nil, nil), ("\"1\"", nil)])
  func `parts of what may be different states are never joined`(first: String?, second: String?)
    throws
  {
    let sandbox = try CacheSandbox()
    let other = content(1000, seed: 2)
    try sandbox.loadPart(0...499, of: whole, tag: first)
    try sandbox.loadPart(500...999, of: other, tag: second, at: 1)
    #expect(try sandbox.served(request(), at: 2) == nil)
    #expect(try sandbox.served(ranged("400-600"), at: 2) == nil)
    #expect(try sandbox.served(ranged("0-499"), at: 2)?.body == Array(whole[..<500]))
    #expect(try sandbox.served(ranged("500-999"), at: 2)?.body == Array(other[500...]))
  }

  @Test func `parts whose complete lengths differ are not joined`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.loadPart(0...499, of: whole)
    try sandbox.loadPart(500...999, of: whole, length: "1001", at: 1)
    #expect(try sandbox.served(ranged("0-999"), at: 2) == nil)
  }

  @Test(
    arguments: [
      ("bytes 0-9/1000", "5"), ("bytes 9-0/1000", nil), ("bytes 0-9/5", nil), ("bytes 0-9", nil),
      ("", nil), ("bytes */1000", nil), ("lines 0-9/1000", nil),
      ("bytes 0-99999999999999999999/*", nil),
    ])
  func `a part that is not certain is not stored`(value: String, length: String?) throws {
    let sandbox = try CacheSandbox()
    var fields = fresh
    if !value.isEmpty { fields.append(HTTPField("Content-Range", value)) }
    if let length { fields.append(HTTPField("Content-Length", length)) }
    let reason = try sandbox.load(ranged("0-9"), head(206, fields), content(10))
    guard case .partial = reason else {
      Issue.record("\(value) is stored, or refused as \(String(describing: reason))")
      return
    }
    #expect(
      try sandbox.load(
        request(), head(206, [HTTPField("Content-Range", "bytes 0-9/1000")]), content(10))
        == .partNotRequested)
  }

  @Test func `a stored redirect or error is no range of anything`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(404, fresh), whole)
    let served = try #require(try sandbox.served(ranged("0-9")))
    #expect(served.head.status == 404)
    #expect(served.body == whole)
  }
}
