import Testing

@testable import OfflineCacheKit

@Suite struct LocalNetworkTests {
  @Test(arguments: [
    "10.0.0.1", "172.16.0.1", "172.31.255.1", "192.168.1.1", "169.254.9.9", "intranet", "nas.local",
    "NAS.LOCAL.", "a.b.internal", "box.home.arpa", "[fe80::1]", "[fd00::1]", "[fc00::1]",
  ])
  func `hosts that may be in the local network`(host: String) throws {
    #expect(try NormalizedURL("http://\(host):8080/").isLocal)
  }

  @Test(arguments: [
    "11.0.0.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "169.253.0.1", "example.com",
    "10.0.0.1.example.com", "local.example.com", "notlocal.com", "[2001:db8::fd00]", "[ff02::1]",
  ])
  func `hosts that are elsewhere`(host: String) throws {
    #expect(try !NormalizedURL("http://\(host)/").isLocal)
  }
}
