import TestSupport
import Testing

@testable import HTTPSemantics

struct NormalizedURLParsingTests {
  private func code(_ text: String) -> InvalidURL.Code? {
    do throws(InvalidURL) {
      _ = try NormalizedURL.parts(of: text)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(
    arguments: [
      ("", .noScheme), ("://h/", .noScheme), ("1http://h/", .noScheme), ("ht tp://h/", .noScheme),
      ("/a:b", .noScheme), ("http", .noScheme), ("ftp://h/", .unsupportedScheme),
      ("httpss://h/", .unsupportedScheme), ("http:", .noHost), ("http:/h", .noHost),
      ("http:h/", .noHost), ("http://", .noHost), ("http:///a", .noHost), ("http://@/", .noHost),
      ("http://:80/", .noHost), ("http://?a", .noHost), ("http://a b/", .invalidHost),
      ("http://a%20b/", .invalidHost), ("http://a%/", .invalidHost), ("http://ä/", .invalidHost),
      ("http://a\\b/", .invalidHost), ("http://good.test\\@evil.test/", .invalidHost),
      ("http://a,b/", .invalidHost), ("http://[::1/", .invalidAddress),
      ("http://[]/", .invalidAddress), ("http://[1:2]/", .invalidAddress),
      ("http://[::g]/", .invalidAddress), ("http://[::1]8080/", .invalidAddress),
      ("http://[::1%25eth0]/", .invalidAddress), ("http://h:0/", .invalidPort),
      ("http://h:65536/", .invalidPort), ("http://h:-1/", .invalidPort),
      ("http://h:8 0/", .invalidPort), ("http://h:99999999999999999999/", .invalidPort),
      ("http://h:80:80/", .invalidPort), ("http://a:b:80/", .invalidPort),
    ] as [(String, InvalidURL.Code)])
  func `a URL that names no server is refused with the reason`(
    text: String, expected: InvalidURL.Code
  ) {
    #expect(code(text) == expected)
  }

  @Test func `the host ends where path, query or fragment begins`() throws {
    for end in ["/", "?", "#", "/@x", "?@x", "#@x", "/:1", "?[", "#\\"] {
      let parts = try NormalizedURL.parts(of: "http://h:81\(end)")
      #expect(parts.host == "h" && parts.port == 81, "\(end)")
      #expect(parts.target.first == "/")
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `a target that needs no change is not changed`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("/a.?%41#é =|[".utf8)
    var normal = 0
    for _ in 0..<20_000 {
      let rest = random.text(of: letters, upTo: 10)
      let target = "/" + String(decoding: rest, as: UTF8.self)
      let parsed = try NormalizedURL.parts(of: "http://h\(target)").target
      if NormalizedURL.isNormal(target.utf8) {
        normal += 1
        #expect(parsed == target)
      }
      #expect(parsed.utf8.first == UInt8(ascii: "/"))
    }
    #expect(normal > 100)
    #expect(!NormalizedURL.isNormal("".utf8) && !NormalizedURL.isNormal("a".utf8))
    #expect(!NormalizedURL.isNormal("?".utf8))
  }
}
