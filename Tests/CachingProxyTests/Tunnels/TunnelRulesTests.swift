import HTTPTransports
import TestSupport
import Testing

@testable import CachingProxy

struct TunnelRulesTests {
  @Test func `beyond loopback private addresses need an option`() {
    let rules = TunnelRules(
      ports: [443], ownPort: 8080, allowsPrivate: false, isOffline: false,
      identity: ProxyIdentity())
    let open = TunnelRules(
      ports: [443], ownPort: 8080, allowsPrivate: true, isOffline: false,
      identity: ProxyIdentity())
    for text in ["127.0.0.1", "10.1.2.3", "::1", "::ffff:192.168.0.1", "fe80::1"] {
      let address = IPAddress(text)!
      #expect(!rules.allows(address, 443))
      #expect(open.allows(address, 443))
    }
    #expect(rules.allows(IPAddress("93.184.216.34")!, 443))
    #expect(!open.allows(IPAddress("127.0.0.1")!, 8080))
  }

  @Test(arguments: [(false, false), (true, true)])
  func `a public address of this machine is treated like a private one`(
    allowsPrivate: Bool, isAllowed: Bool
  ) {
    let own = IPAddress("203.0.113.1")!
    let rules = TunnelRules(
      ports: [443], ownPort: 8080, allowsPrivate: allowsPrivate, isOffline: false,
      identity: ProxyIdentity(), isOwn: { $0 == own })
    #expect(rules.allows(own, 443) == isAllowed && !rules.allows(own, 8080))
    #expect(rules.allows(IPAddress("203.0.113.2")!, 443))
  }

  @Test(arguments: [(false, 504), (true, 403)])
  func `offline, another port is advised only if it would be intercepted`(
    intercepts: Bool, status: Int
  ) throws {
    let made = try #require(LocalAuthority.make(name: "Test", hosts: [], days: 2))
    let authority = try LocalAuthority(certificate: made.certificate, key: made.key, path: "test")
    let rules = TunnelRules(
      ports: [443], ownPort: 8080, allowsPrivate: true, isOffline: true,
      identity: ProxyIdentity(), authority: intercepts ? authority : nil)
    let text = "CONNECT a.test:8443 HTTP/1.1\r\nHost: a.test:8443\r\n\r\n"
    let head = try ConnectHead(Array(text.utf8))
    let refusal = #expect(throws: RequestRefusal.self) { try rules.check(head) }
    #expect(refusal?.status == status)
  }
}
