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
    #expect(error?.problem.contains("//") == false)
  }

  @Test("a dump has no secrets")
  func dumped() throws {
    let keys = S3Credentials(
      region: "r", accessKey: "a", secretKey: "SECRET", sessionToken: "SECRET")
    for access: RemoteServer.Access in [
      .basic(user: "anna", password: "SECRET"), .bearer(token: "SECRET"), .s3(keys), .open,
    ] {
      let server = try RemoteServer("http://a.test/", access: access)
      let secret = Array("SECRET of 16 bytes".utf8)
      let options = try RemoteCacheOptions(servers: [server], secret: secret)
      var text = "\(access) \(server) \(options)"
      dump(options, to: &text)
      #expect(!text.contains("SECRET") && !text.contains("83"), "\(text)")
      #expect(text.contains("http://a.test/") && text.contains("default"), "\(text)")
    }
  }

  @Test("credentials that cannot be sent are refused")
  func credentials() {
    for access: RemoteServer.Access in [
      .basic(user: "", password: "p"), .basic(user: "a:b", password: "p"),
      .bearer(token: ""), .bearer(token: "a\nb"), .bearer(token: "a\u{7F}"),
      .s3(S3Credentials(region: "", accessKey: "a", secretKey: "b")),
      .s3(S3Credentials(region: "r", accessKey: "a", secretKey: "b", sessionToken: "c\r\nX: y")),
      .s3(S3Credentials(region: "r", accessKey: "a", secretKey: "b", sessionToken: "")),
    ] {
      let error = #expect(throws: RemoteCacheError.self) {
        try RemoteServer("http://a/", access: access)
      }
      #expect(error?.code == .invalidCredential)
    }
  }
}
