import CacheFormat
import HTTPSemantics
import HTTPTransports
import Testing

@testable import RemoteTier

struct RemoteServerTests {
  @Test("a slash is added to the base URL")
  func slash() throws {
    #expect(try RemoteServer("HTTP://Cache.test:80/team").base.string == "http://cache.test/team/")
    #expect(try RemoteServer("https://cache.test").base.string == "https://cache.test/")
  }

  @Test(
    "a URL that cannot be meant is refused",
    arguments: [
      ("ftp://a/", RemoteCacheError.Code.invalidURL), ("a", .invalidURL), ("http://", .invalidURL),
      ("http://u:p@a/", .credentialsInURL), ("http://u@a/x", .credentialsInURL),
      ("http://a/?q", .queryInURL), ("http://a/#f", .queryInURL), ("http://a?q", .queryInURL),
    ])
  func refused(text: String, code: RemoteCacheError.Code) {
    let error = #expect(throws: RemoteCacheError.self) { try RemoteServer(text) }
    #expect(error?.code == code)
    #expect(error?.description.contains("u:p") == false)
  }

  @Test("credentials that cannot be sent are refused")
  func credentials() {
    for access: RemoteServer.Access in [
      .basic(user: "", password: "p"), .basic(user: "a:b", password: "p"),
      .bearer(token: ""), .bearer(token: "a\nb"), .bearer(token: "a\u{7F}"),
      .s3(S3Credentials(region: "", accessKey: "a", secretKey: "b")),
    ] {
      let error = #expect(throws: RemoteCacheError.self) {
        try RemoteServer("http://a/", access: access)
      }
      #expect(error?.code == .invalidCredential)
    }
  }
}
