import HTTPSemantics
import Testing

struct NormalizedURLResolvingTests {
  /// The examples of RFC 3986, section 5.4, without fragments, which no request has.
  @Test(arguments: [
    // Section 5.4.1.
    ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"),
    ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"),
    ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
    ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
    ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
    ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
    ("../../g", "http://a/g"),
    // Section 5.4.2.
    ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
    ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
    ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
    ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
    ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
    ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ("g#s/./x", "http://a/b/c/g"), ("g#s/../x", "http://a/b/c/g"),
    // Whole URLs and what only looks like one.
    ("HTTPS://G/x", "https://g/x"), ("1:2", "http://a/b/c/1:2"), ("g/h:i", "http://a/b/c/g/h:i"),
    ("/x:y", "http://a/x:y"), ("?a:b", "http://a/b/c/d;p?a:b"), ("?", "http://a/b/c/d;p?"),
    ("//u:p@g:8080/x", "http://g:8080/x"), ("ä b", "http://a/b/c/%C3%A4%20b"),
  ])
  func `a reference is resolved as RFC 3986 tells`(reference: String, expected: String) throws {
    let base = try NormalizedURL("http://a/b/c/d;p?q")
    #expect(try base.resolving(reference) == NormalizedURL(expected))
  }

  @Test(arguments: [
    ("g:h", InvalidURL.Code.unsupportedScheme), ("http:g", .noHost),
    ("mailto:x@y", .unsupportedScheme),
    ("//", .noHost), ("///x", .noHost), ("//a b/", .invalidHost), ("//h:0/", .invalidPort),
    ("x\ry", .controlCharacter), ("\u{0}", .controlCharacter),
    (String(repeating: "x", count: 65_537), .tooLong),
    (String(repeating: "ä", count: 20_000), .tooLong),
  ])
  func `a reference that means nothing fetchable is refused`(
    reference: String, code: InvalidURL.Code
  ) throws {
    let base = try NormalizedURL("http://a/b/c/d;p?q")
    let error = #expect(throws: InvalidURL.self) { try base.resolving(reference) }
    #expect(error?.code == code)
  }

  @Test func `the port and the root of the base count`() throws {
    #expect(try NormalizedURL("https://h:8443").resolving("x").string == "https://h:8443/x")
    #expect(try NormalizedURL("https://h:8443/y?z").resolving("/x").string == "https://h:8443/x")
    #expect(try NormalizedURL("https://h:8443/y?z").resolving("//h/").string == "https://h/")
    #expect(
      try NormalizedURL("http://[::1]:81/a/b").resolving("../c").string == "http://[::1]:81/c")
    #expect(try NormalizedURL("http://h/a?b/c").resolving("d").string == "http://h/d")
  }

  @Test(arguments: [
    ("http://a/x", "http://A:80/y?z", true), ("http://a/", "https://a/", false),
    ("http://a/", "http://a:81/", false), ("http://a/", "http://b/", false),
  ])
  func `the origin is scheme, host and port`(left: String, right: String, isSame: Bool) throws {
    let left = try NormalizedURL(left)
    let right = try NormalizedURL(right)
    #expect(left.isSameOrigin(as: right) == isSame)
    #expect(right.isSameOrigin(as: left) == isSame)
  }
}
