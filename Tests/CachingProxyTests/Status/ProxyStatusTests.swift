import CacheStore
import Foundation
import FoundationXML
import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite struct ProxyStatusTests {
  @Test func `The page allows its own style and script alone, by a new number each time`() throws {
    let tested = try StatusUnderTest()
    var nonces: Set<String> = []
    for _ in 0..<3 {
      let answer = try #require(tested.status.answer(path: "/.offlinecache/", query: ""))
      let page = try XMLDocument(data: Data(answer.body))
      let nonce = try #require(page.nodes(forXPath: "//script/@nonce").first?.stringValue)
      #expect(try page.nodes(forXPath: "//style/@nonce").map(\.stringValue) == [nonce])
      let policy = try #require(answer.fields.first(named: "Content-Security-Policy")?.text)
      #expect(policy.hasPrefix("default-src 'none'; "))
      #expect(policy.contains("script-src 'nonce-\(nonce)'"))
      #expect(!policy.contains("unsafe"))
      #expect(answer.contentType == "text/html; charset=utf-8")
      nonces.insert(nonce)
    }
    #expect(nonces.count == 3)
  }

  @Test func `There is nothing below the folder but the pages`() throws {
    let tested = try StatusUnderTest()
    for path in [
      "/.offlinecache/", "/.offlinecache", "/.offlinecache/status", "/.offlinecache/sites",
    ] {
      #expect(tested.status.answer(path: path, query: "")?.status == 200)
    }
    for path in ["", "/", "/.offlinecache/status/", "/.offlinecache/../", "/.offlinecachestatus"] {
      #expect(tested.status.answer(path: path, query: "") == nil)
    }
  }

  @Test func `A store that cannot remove a site says so`() throws {
    let tested = try StatusUnderTest()
    let failing = ProxyStatus(
      store: tested.store, facts: Sample.facts(), clock: tested.clock,
      forget: { prefix throws(StoreError) in
        throw StoreError(.noSpace, path: "/p", cause: "c", remedy: "r")
      })
    defer { failing.stop() }
    try tested.put("http://a.test/", length: 1)
    failing.setAddress("http://127.0.0.1:8080", isOpenToOthers: false)
    let list = try #require(failing.answer(path: ProxyStatus.sitesPath, query: ""))
    let page = try XMLDocument(data: Data(list.body))
    let action = try #require(page.nodes(forXPath: "//tbody//@action").first?.stringValue)
    let parts = action.split(separator: "?", maxSplits: 1).map(String.init)
    let answer = try #require(failing.change(path: parts[0], query: parts[1], isOwn: true))
    #expect(answer.status == 500)
    #expect(String(decoding: answer.body, as: UTF8.self).contains("/p"))
  }
}
