import Testing

@testable import CachingProxy

struct RefusedHostsTests {
  private let start = ContinuousClock.now

  @Test func `one broken handshake is no refusal, two without a request between are`() {
    var hosts = RefusedHosts()
    var isNew = hosts.refuse("a.test", at: start)
    #expect(!isNew && !hosts.contains("a.test", at: start))
    hosts.accept("a.test")
    isNew = hosts.refuse("a.test", at: start)
    #expect(!isNew)
    isNew = hosts.refuse("a.test", at: start)
    #expect(isNew && hosts.contains("a.test", at: start) && !hosts.contains("b.test", at: start))
    // Connections that were begun before say nothing new.
    isNew = hosts.refuse("a.test", at: start)
    #expect(!isNew && hosts.contains("a.test", at: start))
    // Neither does a request of another client, which accepts the certificate.
    hosts.accept("a.test")
    #expect(hosts.contains("a.test", at: start))
  }

  @Test func `after an hour it is tried again`() {
    var hosts = RefusedHosts()
    _ = hosts.refuse("a.test", at: start)
    var isNew = hosts.refuse("a.test", at: start + .seconds(3600))
    #expect(!isNew)
    isNew = hosts.refuse("a.test", at: start + .seconds(7199))
    #expect(isNew)
    #expect(hosts.contains("a.test", at: start + .seconds(10_798)))
    #expect(!hosts.contains("a.test", at: start + .seconds(10_799)))
  }

  @Test func `the oldest is forgotten for another`() {
    var hosts = RefusedHosts()
    for number in 0...RefusedHosts.maximum {
      for _ in 0..<RefusedHosts.enough {
        _ = hosts.refuse("\(number).test", at: start + .seconds(number))
      }
    }
    let now = start + .seconds(RefusedHosts.maximum)
    #expect(!hosts.contains("0.test", at: now) && hosts.contains("1.test", at: now))
    #expect(hosts.contains("\(RefusedHosts.maximum).test", at: now))
  }

  @Test func `those that count as refused are listed, and no others`() {
    var hosts = RefusedHosts()
    _ = hosts.refuse("once.test", at: start)
    for host in ["b.test", "a.test"] {
      for _ in 0..<RefusedHosts.enough { _ = hosts.refuse(host, at: start) }
    }
    #expect(hosts.hosts(at: start) == ["a.test", "b.test"])
    // A client that breaks off again makes its hour begin anew, as it does for `contains`.
    _ = hosts.refuse("a.test", at: start + .seconds(60))
    #expect(hosts.hosts(at: start + .seconds(3600)) == ["a.test"])
    #expect(hosts.hosts(at: start + .seconds(3660)).isEmpty)
  }
}
