import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("A reference of the origin") struct OriginReferenceTests {
  @Test(arguments: [
    ("http://o.test:81/b", "http://o.test:81/", "http://me/b"),
    ("HTTP://O.test:81", "http://o.test:81/", "http://me/"),
    ("//o.test:81/b", "http://o.test:81/", "http://me/b"),
    ("http://u:p@o.test:81/b", "http://o.test:81/", "http://me/b"),
    ("http://o.test:81//b", "http://o.test:81/", "http://me//b"),
    ("http://o.test/b", "http://o.test:81/", nil), ("https://o.test/b", "http://o.test/", nil),
    ("http://o.test.evil/b", "http://o.test/", nil), ("b", "http://o.test/", nil),
    ("/b", "http://o.test/", nil), ("?b=http://o.test/", "http://o.test/", nil),
    ("mailto:a@o.test", "http://o.test/", nil), ("", "http://o.test/", nil),
    ("http://o.test/base/b", "http://o.test/base", "http://me/b"),
    ("http://o.test/base", "http://o.test/base/", "http://me/"),
    ("http://o.test/base?q", "http://o.test/base", "http://me/?q"),
    ("/base/b#c", "http://o.test/base", "/b#c"), ("/base//b", "http://o.test/base", "/.//b"),
    ("http://o.test/base2/b", "http://o.test/base", nil), ("/b", "http://o.test/base", nil),
    ("http://o.test/base/../b", "http://o.test/base", nil),
  ])
  func `leads to the proxy where it led to the origin`(
    reference: String, origin: String, expected: String?
  ) throws {
    let origin = try NormalizedURL(origin)
    let rewriting = OriginReference(url: origin, origin: origin, address: "http://me")
    let field = rewriting.rewriting(HTTPField("Location", reference))
    #expect(field.text == expected ?? reference)
  }

  @Test func `keeps its bytes if they are not UTF-8`() throws {
    let origin = try NormalizedURL("http://o.test/")
    let rewriting = OriginReference(url: origin, origin: origin, address: "http://me")
    let latin = HTTPField(name: "Location", value: Array("http://o.test/caf".utf8) + [0xE9])
    #expect(rewriting.rewriting(latin).text == "http://me/caf%E9")
    #expect(rewriting.rewriting(HTTPField("Location", "//o.test/é")).text == "http://me/%C3%A9")
  }
}
