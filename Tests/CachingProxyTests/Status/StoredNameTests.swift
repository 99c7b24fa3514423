import CacheFormat
import Testing

@testable import CachingProxy

@Suite struct StoredNameTests {
  @Test(
    arguments: [
      ("GET http://a.test/x/y.png", "http://a.test/x/y.png", "a.test", "a.test/x/"),
      ("GET http://a.test:81/x?y/z", "http://a.test:81/x?y/z", "a.test:81", "a.test:81/"),
      ("GET http://a.test?b", "http://a.test?b", "a.test", "a.test/"),
      ("http://[::1]:80/", "http://[::1]:80/", "[::1]:80", "[::1]:80/"),
      (
        "GET http://a.test/u/http://b.test/", "http://a.test/u/http://b.test/", "a.test",
        "a.test/u/"
      ),
      ("://", "://", "", "/"),
    ])
  func `A key says what it is of`(key: String, url: String, host: String, folder: String) {
    let name = StoredName(key: ByteString(key))
    #expect(name.url == url)
    #expect(name.host == host)
    #expect(name.folder == folder)
  }

  @Test(arguments: ["", "a key of one's own", "http:/", ":/"])
  func `A key without a URL is its own name`(key: String) {
    let name = StoredName(key: ByteString(key))
    #expect(name.url == key)
    #expect(name.host == nil)
    #expect(name.folder == nil)
  }
}
