import HTTPTransports
import RemoteTier
import Testing

@testable import offlinecache

@Suite struct RemoteOptionsTests {
  @Test func `a limit per host of downloads is none for the tier`() throws {
    var setup = NetworkSetup()
    setup.connectionsPerHost = 1
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://a.test/")], secret: Array(repeating: 7, count: 16))
    let own = RemoteOptions.own(setup, options)
    #expect(own.connectionsPerHost == options.connections && !own.usesHTTP2)
  }
}
