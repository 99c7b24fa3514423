import CacheFormat
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import NginxOrigin
import TestSupport
import Testing

@testable import RemoteTier

/// Measures; asserts nothing about time. `OFFLINECACHE_TEST_COST` is the number of look-ups, 0 by
/// default.
struct CostTests {
  private static let count =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_COST"].flatMap { Int($0) } ?? 0

  @Test(
    "a look-up of 4 KB beside two plain requests on kept connections",
    .enabled(if: count > 0 && NginxOrigin.isInstalled, "OFFLINECACHE_TEST_COST is not set"))
  func lookUp() async throws {
    let origin = try await NginxOrigin(
      """
      server { listen PORT0; keepalive_requests 1000000;
        location / { root FOLDER/site; dav_methods PUT; create_full_put_path on; } }
      """, in: TemporaryFolder())
    let base = origin.address(scheme: "http", host: "127.0.0.1")
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let machine = try Machine(transport, bases: [base])
    let key: ByteString = "GET http://a.test/4k"
    var random = SplitMix64(seed: 1)
    let body = random.bytes(4096)
    await machine.offer(key, body)
    let document = try NormalizedURL(base + machine.tier.name(of: key).path)
    let file = try NormalizedURL(
      base + ObjectName.body(Machine.response(body).bodyDigest).path)
    var (plain, found): ([Double], [Double]) = ([], [])
    for _ in 0..<Self.count {
      plain.append(
        try await time {
          for url in [document, file] {
            let response = try await transport.send(HTTPRequest(url: url))
            while try await response.body.next() != nil {}
          }
        })
      found.append(await time { #expect(await machine.lookUp(key) == .success(body)) })
    }
    let (two, one) = (plain.sorted()[Self.count / 2], found.sorted()[Self.count / 2])
    print("two plain GETs: \(two) us, a look-up of 4 KB: \(one) us, ratio \(one / two) (medians)")
  }

  private func time(_ work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    return Double(start.duration(to: .now).components.attoseconds) / 1e12
  }
}
