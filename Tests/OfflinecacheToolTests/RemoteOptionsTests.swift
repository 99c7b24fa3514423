import Foundation
import HTTPTransports
import RemoteTier
import Testing
import ToolTesting

@testable import offlinecache

@Suite struct RemoteOptionsTests {
  @Test func `a limit per host is none for the tier, and one of all connections is divided`() throws
  {
    var setup = NetworkSetup()
    setup.connectionsPerHost = 1
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://a.test/")], secret: Array(repeating: 7, count: 16))
    let own = RemoteOptions.own(setup, options)
    #expect(own.connectionsPerHost == options.connections && !own.usesHTTP2)
    #expect(own.connections == 0)
    for limit in 8...100 {
      setup.connections = RemoteOptions.originShare(of: limit)
      let shared = RemoteOptions.own(setup, options).connections
      #expect(shared > 0 && setup.connections + shared <= limit)
      var fitting = options
      fitting.fit(into: shared)
      #expect(fitting.connections <= max(3, shared) && fitting.maximumLookUps > 0)
    }
    var unlimited = options
    unlimited.fit(into: 0)
    #expect(unlimited.connections == options.connections)
  }

  @Test(arguments: [["fetch"], ["download"], ["serve", "--origin"]])
  func `a client certificate and a tier exclude each other`(words: [String]) throws {
    let folder = TemporaryFolder()
    let file = "\(folder.path)/file"
    try Data(repeating: 65, count: 20).write(to: URL(filePath: file))
    let options = ["--remote", "http://127.0.0.1:1/", "--remote-secret-file", file]
    let all = words + ["http://127.0.0.1:1/"] + options + ["--client-cert", file]
    let result = try ToolRun().run(bytes: all.map { Array($0.utf8) })
    #expect(result.status == 64)
    #expect(result.errors.contains("--client-cert and --remote exclude each other"))
  }
}
