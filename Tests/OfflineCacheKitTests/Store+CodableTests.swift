import OfflineCacheKit
import TestSupport
import Testing

@Suite("Values in a store") struct StoreCodableTests {
  private struct User: Codable, Equatable {
    var name: String
    var born: Date
  }

  @Test func `come back as they were stored`() throws {
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path + "/store")
    defer { store.close() }
    let user = User(name: "Grace", born: Date(timeIntervalSince1970: 3))
    let id = 7
    try store.put(encoding: user, for: "user/\(id)", metadata: EntryMetadata(tags: ["users"]))
    #expect(try store.value(for: "user/7") == user)
    #expect(try store.value(User.self, for: "user/8") == nil)
    #expect(store.info(for: "user/7")?.metadata.tags == ["users"])
  }

  @Test func `that are others are an error`() throws {
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path + "/store")
    defer { store.close() }
    try store.put(encoding: ["a"], for: "list")
    #expect(throws: DecodingError.self) { try store.value(User.self, for: "list") }
  }

  @Test func `need no other import for a request`() {
    let request = URLRequest(url: URL(filePath: "/"))
    #expect(request.cachePolicy == .useProtocolCachePolicy)
  }
}
