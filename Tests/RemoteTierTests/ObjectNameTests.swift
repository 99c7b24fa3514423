import CacheFormat
import Testing

@testable import RemoteTier

struct ObjectNameTests {
  @Test("names are those of Bazel's layout, and contain neither key nor namespace")
  func golden() {
    let name = ObjectName.document(of: "GET https://example.org/", in: "team")
    #expect(
      name.path
        == "ac/085249604e21a3a18ada22940ca709ba19f0118baf208bdb155f25b5f01362a5")
    #expect(
      ObjectName.body(Array(repeating: 0xAB, count: 32)).path
        == "cas/" + String(repeating: "ab", count: 32))
    #expect(
      ObjectName.document(of: "GET https://example.org/", in: "other") != name)
    // All machines and versions must agree.
    #expect(Rendezvous.order(["http://a/", "http://b/", "http://c/"], for: name) == [2, 1, 0])
  }

  @Test("of many names each server gets its share, and if one goes, only its share moves")
  func rendezvous() {
    let servers = ["http://a/", "http://b/", "http://c/"]
    let names = (0..<3000).map { ObjectName.document(of: "\($0)", in: "n") }
    let first = names.map { Rendezvous.order(servers, for: $0)[0] }
    for index in 0..<3 { #expect((850...1150).contains(first.count { $0 == index })) }
    for (name, choice) in zip(names, first) where choice != 2 {
      #expect(Rendezvous.order(Array(servers.prefix(2)), for: name)[0] == choice)
    }
  }
}
