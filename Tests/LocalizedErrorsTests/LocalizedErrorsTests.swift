import CacheClient
import CacheStore
import Foundation
import HTTPSemantics
import HTTPTransports
import RemoteTier
import Testing

/// No module with LocalizedErrors in its name is imported: a program that imports CacheStore or
/// CacheClient and Foundation is what is tested.
@Suite struct LocalizedErrorsTests {
  @Test func `an error of the store has its text with CacheStore and Foundation alone`() {
    let error = StoreError(.noSpace, path: "/p", cause: "the disk is full", remedy: "free space")
    #expect(error.localizedDescription == "/p: the disk is full; free space")
    #expect((error as any Error).localizedDescription == error.description)
  }

  @Test func `a store that cannot be opened says path, cause and remedy`() {
    do {
      _ = try Store(at: "/dev/null")
      Issue.record("a device is no store")
    } catch {
      #expect((error as any Error).localizedDescription.hasPrefix("/dev/null: "))
    }
  }

  @Test func `errors of the client have the text of their description`() throws {
    let transport = TransportError(.timeout, url: "http://h/")
    let client: any Error = ClientError(.transport(transport), url: "http://h/")
    #expect((transport as any Error).localizedDescription == transport.description)
    #expect(
      client.localizedDescription
        == "http://h/: a time limit was exceeded; try again, or allow more time")
    let url = try #require(throws: InvalidURL.self) { try NormalizedURL("nothing") }
    #expect((url as any Error).localizedDescription == url.description)
    let server = try #require(throws: RemoteCacheError.self) { try RemoteServer("http://a:b@c/") }
    #expect((server as any Error).localizedDescription == server.description)
    let table = try #require(throws: SubstituteError.self) {
      try Substitutes(contentsOf: ["/nonexistent/table"])
    }
    #expect((table as any Error).localizedDescription == table.description)
  }
}
