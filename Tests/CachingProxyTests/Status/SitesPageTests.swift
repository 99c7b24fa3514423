import CacheStore
import Foundation
import HTTPSemantics
import Testing

@testable import CachingProxy

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite("The list of sites") struct SitesPageTests {
  private static let path = "/.offlinecache/sites"

  private static func tested(isOpen: Bool = false) throws -> StatusUnderTest {
    let tested = try StatusUnderTest(facts: Sample.facts(origin: nil))
    tested.status.setAddress("http://127.0.0.1:8080", isOpenToOthers: isOpen)
    try tested.put("https://a.test/", length: 100)
    try tested.put("https://a.test/x", length: 100)
    try tested.put("http://a.test/y", length: 100)
    try tested.put("https://a.test:8443/", length: 10)
    try tested.put("http://b.test/?q=https://a.test/", length: 20)
    return tested
  }

  private static func page(_ tested: StatusUnderTest, _ query: String = "") throws -> XMLDocument {
    try XMLDocument(data: try #require(tested.status.answer(path: path, query: query)).body.data)
  }

  private static func texts(_ path: String, _ page: XMLDocument) throws -> [String] {
    try page.nodes(forXPath: path).map { $0.stringValue ?? "" }
  }

  @Test func `has each host once, with the entries and bytes of both schemes`() throws {
    let page = try Self.page(try Self.tested())
    #expect(try Self.texts("//tbody//a", page) == ["a.test", "b.test", "a.test:8443"])
    #expect(
      try Self.texts("//tbody//a/@href", page) == [
        "https://a.test/", "http://b.test/", "https://a.test:8443/",
      ])
    #expect(try Self.texts("//tbody/tr[1]/td", page).prefix(2) == ["3", "300 B"])
    #expect(try Self.texts("//script", page).isEmpty)
  }

  @Test(arguments: [("q=A.TEST", 2), ("q=b", 1), ("q=%3A84", 1), ("q=none+such", 0), ("r=b", 3)])
  func `can be searched`(query: String, count: Int) throws {
    let page = try Self.page(try Self.tested(), query)
    #expect(try Self.texts("//tbody/tr", page).count == count)
  }

  @Test func `escapes what is searched for`() throws {
    let page = try Self.page(try Self.tested(), "q=%22%3E%3Cscript%3E")
    #expect(try Self.texts("//input/@value", page) == ["\"><script>"])
  }

  @Test func `removes a host, and no other one`() throws {
    let tested = try Self.tested()
    let action = try #require(try Self.texts("//tbody/tr[1]//@action", Self.page(tested)).first)
    let answer = try #require(tested.forget(action))
    #expect(answer.status == 303)
    #expect(answer.fields.first(named: "Location")?.text == Self.path)
    #expect(try Self.texts("//tbody//a", Self.page(tested)) == ["b.test", "a.test:8443"])
  }

  @Test func `keeps the search when a host is removed`() throws {
    let tested = try Self.tested()
    let actions = try Self.texts("//tbody//@action", Self.page(tested, "q=a%20b%26.test"))
    #expect(actions.isEmpty)
    let action = try #require(try Self.texts("//tbody//@action", Self.page(tested, "q=b.t")).first)
    #expect(tested.forget(action)?.fields.first(named: "Location")?.text == "\(Self.path)?q=b.t")
  }

  @Test func `removes nothing without its token, for another page, or for other machines`() throws {
    let tested = try Self.tested()
    let page = try Self.page(tested)
    let action = try #require(try Self.texts("//tbody/tr[1]//@action", page).first)
    #expect(tested.forget(action, isOwn: false)?.status == 403)
    #expect(tested.forget("/.offlinecache/forget?host=a.test")?.status == 403)
    #expect(tested.forget("/.offlinecache/forget?host=a.test&token=")?.status == 403)
    #expect(tested.forget(action.replacing("token=", with: "token=0"))?.status == 403)
    #expect(tested.forget(action.replacing("host=a.test", with: "host=a.test%2Fx"))?.status == 403)
    #expect(tested.status.change(path: Self.path, query: "", isOwn: true) == nil)
    #expect(tested.store.statistics.entries == 5)

    tested.status.setAddress("http://10.0.0.1:8080", isOpenToOthers: true)
    #expect(tested.forget(action)?.status == 403)
    #expect(try Self.texts("//tbody//@action", Self.page(tested)).isEmpty)
    #expect(tested.store.statistics.entries == 5)
  }

  @Test func `is for the pages of this server, by the field Origin`() async throws {
    let tested = try Self.tested()
    let action = try #require(try Self.texts("//tbody/tr[1]//@action", Self.page(tested)).first)
    try await withServer(ScriptedBackend(), origin: nil, pages: tested.status) { port, _ in
      func post(_ base: String, _ host: String, _ origin: String?) async throws -> Int {
        let field = origin.map { "Origin: \($0)\r\n" } ?? ""
        return try await exchange(
          port,
          "POST \(base)\(action) HTTP/1.1\r\nHost: \(host)\r\n\(field)Content-Length: 0\r\n\r\n"
        ).status
      }
      let own = "127.0.0.1:\(port)"
      for origin in [nil, "null", "http://evil.test", "https://\(own)", "http://localhost:\(port)"]
      {
        let status = try await post("", own, origin)
        #expect(status == 403, "\(origin ?? "")")
      }
      #expect(try await post("", "evil.test", "http://evil.test") == 421)
      // A browser that sends everything to the proxy asks for its pages by their whole URL.
      #expect(try await post("http://\(own)", own, "http://evil.test") == 403)
      #expect(try await post("http://\(own)", own, "http://\(own)") == 303)
    }
    #expect(tested.store.statistics.entries == 2)
  }
}

extension StatusUnderTest {
  /// Sends the form with this action.
  fileprivate func forget(_ action: String, isOwn: Bool = true) -> ProxyPage? {
    let parts = action.split(separator: "?", maxSplits: 1).map(String.init)
    return status.change(path: parts[0], query: parts.count > 1 ? parts[1] : "", isOwn: isOwn)
  }
}

extension [UInt8] {
  fileprivate var data: Data { Data(self) }
}
