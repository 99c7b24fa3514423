import CacheFormat
import HTTPSemantics
import HTTPTransports
import Testing

@testable import RemoteTier

struct SetupTests {
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

  @Test(
    "a namespace has letters, digits, dots, lines and dashes",
    arguments: ["", "a/b", "a\0b", "a b", "ü", String(repeating: "a", count: 129)])
  func namespace(text: String) throws {
    let server = try RemoteServer("http://a/")
    let error = #expect(throws: RemoteCacheError.self) {
      try RemoteCacheOptions(servers: [server], namespace: text, secret: Machine.secret)
    }
    #expect(error?.code == .invalidNamespace)
  }

  @Test("each request of a tier finds a connection of a usual transport")
  func connections() throws {
    var options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://a/")], secret: Machine.secret)
    #expect(options.connections <= NetworkSetup().connectionsPerHost)
    (options.maximumLookUps, options.uploads) = (.max, .min)
    #expect(options.connections == 1_002)
  }

  @Test("a short secret, no server, and one server twice are refused")
  func others() throws {
    let server = try RemoteServer("http://a/")
    for (servers, secret, code) in [
      ([server], [UInt8](), RemoteCacheError.Code.weakSecret),
      ([server], Array("fifteen bytes..".utf8), .weakSecret),
      ([], Machine.secret, .invalidServers), ([server, server], Machine.secret, .invalidServers),
    ] {
      let error = #expect(throws: RemoteCacheError.self) {
        try RemoteCacheOptions(servers: servers, secret: secret)
      }
      #expect(error?.code == code)
    }
  }

  @Test("credentials that cannot be sent are refused")
  func credentials() {
    for access: RemoteServer.Access in [
      .basic(user: "", password: "p"), .basic(user: "a:b", password: "p"),
      .bearer(token: ""), .bearer(token: "a\nb"),
      .s3(S3Credentials(region: "", accessKey: "a", secretKey: "b")),
    ] {
      let error = #expect(throws: RemoteCacheError.self) {
        try RemoteServer("http://a/", access: access)
      }
      #expect(error?.code == .invalidCredential)
    }
  }

  @Test("a request is signed as botocore 1 signs it")
  func signature() throws {
    // From botocore.auth.S3SigV4Auth, with this time.
    for (token, expected) in [
      (nil, "45ca9ff6cf47797a3af7704d5609173097116ea11fcb6a1765a328a51f413f58"),
      ("tok/en+=", "abe662985c2fbbc8a48f40f2fdb62ca4ab334677ab268fb6be84f58170ece6b1"),
    ] as [(String?, String)] {
      let credentials = S3Credentials(
        region: "eu-central-1", accessKey: "AKIDEXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token)
      var request = HTTPRequest(
        method: HTTPMethod(rawValue: "PUT"),
        url: try NormalizedURL(
          "http://localhost:9000/bucket/a+b=c~d%20e/cas/" + String(repeating: "ab", count: 32)))
      credentials.sign(
        &request, contentDigest: String(repeating: "cd", count: 32),
        at: Timestamp(nanoseconds: 1_769_903_999_000_000_000))
      #expect(request.fields.first(named: "x-amz-date")?.text == "20260131T235959Z")
      #expect(request.fields.first(named: "Authorization")?.text.hasSuffix(expected) == true)
    }
  }
}
