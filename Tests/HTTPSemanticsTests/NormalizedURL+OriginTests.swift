import HTTPSemantics
import Testing

struct NormalizedURLOriginTests {
  @Test(arguments: [
    ("http://a.test/x", "HTTP://A.test:80/y?z", true), ("http://a.test/", "https://a.test/", false),
    ("http://a.test/", "http://a.test:8080/", false),
    ("http://a.test:443/", "https://a.test/", false), ("http://a.test/", "http://b.test/", false),
    ("http://a.test/", "http://a.test./", false), ("http://u:p@a.test/", "http://a.test/", true),
    ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", false),
  ])
  func `scheme, host and port make an origin`(left: String, right: String, isSame: Bool) throws {
    let urls = try [NormalizedURL(left), NormalizedURL(right)]
    #expect(urls[0].isSameOrigin(as: urls[1]) == isSame)
    #expect(Set(urls.map { NormalizedURL.Origin($0) }).count == (isSame ? 1 : 2))
  }

  @Test(arguments: [
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.255.255.254",
    "127.0.0.1.", "[::1]",
  ])
  func `names and addresses of this machine are known`(host: String) throws {
    #expect(try NormalizedURL("http://\(host):8080/").isLoopback)
  }

  @Test(arguments: [
    "localhost.example", "notlocalhost", "127.0.0.1.example", "127.a", "128.0.0.1", "1.127.0.1",
    "[::2]", "[::1:1]", "127", "example",
  ])
  func `other hosts are not taken for this machine`(host: String) throws {
    #expect(try !NormalizedURL("http://\(host)/").isLoopback)
  }
}
