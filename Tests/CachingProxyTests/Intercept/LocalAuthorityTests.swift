import CacheFormat
import CacheSystem
import TestSupport
import Testing

@testable import CachingProxy

@Suite struct LocalAuthorityTests {
  private func authority(
    _ hosts: [String] = [], clock: any WallClock = SystemClock()
  ) throws -> LocalAuthority {
    let made = try #require(LocalAuthority.make(name: "Test", hosts: hosts, days: 2))
    return try LocalAuthority(
      certificate: made.certificate, key: made.key, path: "test", clock: clock)
  }

  @Test func `it is read as it was made`() throws {
    let (one, two) = (try authority(["a.test"]), try authority())
    #expect(one.name == "Test" && one.fingerprint != two.fingerprint)
    #expect((47...50).contains((one.to.nanoseconds - one.from.nanoseconds) / 3_600_000_000_000))
  }

  @Test func `name constraints are read, and cover names alone`() throws {
    let authority = try authority(["A.test", "b.test"])
    #expect(authority.hosts == ["a.test", "b.test"])
    for host in ["a.test", "www.a.test", "b.test"] { #expect(authority.covers(host)) }
    for host in ["aa.test", "test", "c.test", "127.0.0.1", "[::1]"] {
      #expect(!authority.covers(host))
    }
    let all = try self.authority()
    #expect(all.hosts.isEmpty && all.covers("a.test") && all.covers("127.0.0.1"))
  }

  @Test func `a certificate is made once for each host, and at most 1024 are kept`() throws {
    let authority = try authority()
    // Numbers of sockets that no connection has.
    let first: Int32 = 100_000
    for number in 0..<1_100 {
      #expect(authority.expect("n\(number % 1_050).test", on: first + Int32(number)))
    }
    #expect(authority.madeCount == 1_024)
    for number in 0..<1_100 { LocalAuthority.forget(first + Int32(number)) }
  }

  @Test(arguments: [(60, true), (6 * 86_400, true), (8 * 86_400, false), (-7_200, false)])
  func `a certificate is made anew after a week, and if the clock was set back`(
    seconds: Int64, isKept: Bool
  ) throws {
    let clock = TestClock()
    let authority = try authority(clock: clock)
    let first = try #require(authority.certificate(for: "a.test"))
    clock.advance(bySeconds: Double(seconds))
    let second = try #require(authority.certificate(for: "a.test"))
    #expect((first === second) == isKept)
    #expect(authority.certificate(for: "a.test") === second)
    #expect(authority.madeCount == 1)
  }

  @Test(arguments: ["a.test", "xn--bcher-kva.example", "127.0.0.1", "[::1]", "a_b.test"])
  func `hosts have certificates`(host: String) throws {
    // Tests run side by side, so each has a number of its own.
    let socket = Int32.random(in: 200_000..<1_000_000)
    #expect(try authority().expect(host, on: socket))
    LocalAuthority.forget(socket)
  }

  @Test(arguments: ["", "*.test", "a b", "a\0b", "a/b", String(repeating: "a", count: 254)])
  func `what is no host has none`(host: String) throws {
    #expect(try !authority().expect(host, on: 150_000))
  }

  @Test func `what is no authority is an error`() throws {
    let made = try #require(LocalAuthority.make(name: "Test", hosts: [], days: 2))
    let other = try #require(LocalAuthority.make(name: "Test", hosts: [], days: 2))
    for (certificate, key) in [
      ([], made.key), (made.certificate, []), (made.key, made.key), (made.certificate, other.key),
    ] {
      #expect(throws: ProxyError(.authority, subject: "p")) {
        try LocalAuthority(certificate: certificate, key: key, path: "p")
      }
    }
  }

  @Test(
    arguments: [(0, .valid), (-7_200, .tooEarly), (86_400, .valid), (3 * 86_400, .expired)]
      as [(Int64, LocalAuthority.Validity)])
  func `it is valid for its days alone`(seconds: Int64, validity: LocalAuthority.Validity) throws {
    let clock = TestClock(SystemClock().now())
    let authority = try authority(clock: clock)
    clock.advance(bySeconds: Double(seconds))
    #expect(authority.validity == validity)
  }
}
