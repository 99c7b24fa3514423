import HTTPTransports
import Testing

@testable import RemoteTier

struct RemoteCacheOptionsTests {
  @Test(
    "a namespace has letters, digits, dots, lines and dashes",
    arguments: ["", "a/b", "a\0b", "a b", "a~b", "ü", String(repeating: "a", count: 129)])
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
    let secret = Array("sixteen bytes...".utf8)
    #expect(throws: Never.self) { try RemoteCacheOptions(servers: [server], secret: secret) }
  }

  @Test func `a tier has one identity, in whatever order its servers are named`() throws {
    func identity(_ urls: [String], _ namespace: String, _ secret: [UInt8]) throws -> String {
      let servers = try urls.map { try RemoteServer($0) }
      return try RemoteCacheOptions(servers: servers, namespace: namespace, secret: secret).identity
    }
    let own = try identity(["http://a/", "http://b/"], "n", Machine.secret)
    #expect(try identity(["http://b/", "http://a/"], "n", Machine.secret) == own)
    for other in [
      try identity(["http://a/"], "n", Machine.secret),
      try identity(["http://a/", "http://b/"], "m", Machine.secret),
      try identity(["http://a/", "http://b/"], "n", Machine.secret + [1]),
    ] { #expect(other != own) }
  }
}
