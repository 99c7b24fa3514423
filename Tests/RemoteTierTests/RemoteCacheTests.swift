import CacheFormat
import ClientTesting
import MessageDigests
import Synchronization
import Testing

@testable import RemoteTier

/// Several machines with one server in memory.
@Suite(.timeLimit(.minutes(5)))
struct RemoteCacheTests {
  private let key: ByteString = "GET http://a.test/x"

  @Test(
    "what one machine offers, another one finds, whatever its length",
    arguments: [0, 1, 4096, 4097, 100_000], [true, false])
  func sharing(length: Int, isBazel: Bool) async throws {
    let server = MemoryServer(isBazel: isBazel)
    let (one, two) = (try Machine(server), try Machine(server))
    var random = SplitMix64(seed: UInt64(length))
    let body = random.bytes(length)
    #expect(await two.lookUp(key) == .failure(.absent))
    await one.offer(key, body)
    two.time.advance(bySeconds: 6)
    #expect(await two.lookUp(key) == .success(body))
    #expect(two.tier.statistics.hits == 1)
    #expect(one.tier.statistics.offersStored == 1)
    let isLong = length > SharedResponse.inlineBytes
    #expect(server.objects.keys.contains { $0.contains("/cas/") } == isLong)
  }

  @Test("no path and no document of a server contains a URL in clear text outside of base 64")
  func names() async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, Array("x".utf8))
    #expect(!server.objects.isEmpty)
    for (path, object) in server.objects {
      #expect(path.hasPrefix("cache.test/team/ac/") || path.hasPrefix("cache.test/team/cas/"))
      #expect(!String(decoding: object.bytes, as: UTF8.self).contains("a.test"))
    }
  }

  @Test("machines with another namespace or secret share nothing, and harm nobody")
  func tenants() async throws {
    let server = MemoryServer()
    let one = try Machine(server)
    let other = try Machine(server, namespace: "other")
    let stranger = try Machine(server, secret: Array("a secret of other people".utf8))
    await one.offer(key, [1])
    #expect(await other.lookUp(key) == .failure(.absent))
    #expect(await stranger.lookUp(key) == .failure(.badDocument))
    await stranger.offer(key, [2])
    #expect(await one.lookUp(key) == .failure(.badDocument))
    await one.offer(key, [1])
    #expect(await one.lookUp(key) == .success([1]))
  }

  @Test("with the mode read nothing is written, with the mode write nothing is looked up")
  func modes() async throws {
    let server = MemoryServer()
    let reader = try Machine(server, mode: .read)
    await reader.offer(key, [1])
    await #expect(throws: RemoteCacheError.self) { try await reader.tier.purge(.everything) }
    _ = await reader.lookUp(key)
    #expect(server.requests.allSatisfy { $0.method == .get })
    server.clearLog()
    let writer = try Machine(server, mode: .write)
    #expect(await writer.lookUp(key) == .failure(.mode))
    #expect(server.requests.isEmpty)
    await writer.offer(key, [1])
    reader.time.advance(bySeconds: 10)
    #expect(await reader.lookUp(key) == .success([1]))
  }

  @Test("Basic and Bearer credentials are sent with each request")
  func credentials() async throws {
    for (access, value) in [
      (RemoteServer.Access.basic(user: "u", password: "p"), "Basic dTpw"),
      (.bearer(token: "t"), "Bearer t"),
    ] {
      let server = MemoryServer()
      let machine = try Machine(server, access: access)
      await machine.offer(key, Array(repeating: 1, count: 5000))
      _ = await machine.lookUp(key)
      #expect(server.requests.count >= 6)
      #expect(
        server.requests.allSatisfy { $0.fields.first(named: "Authorization")?.text == value })
    }
  }

  @Test("names are divided among servers; if one is gone its share moves, and comes back")
  func severalServers() async throws {
    let server = MemoryServer()
    let bases = ["http://one.test/", "http://two.test/", "http://three.test/"]
    let machine = try Machine(server, bases: bases)
    let keys = (0..<60).map { ByteString("GET http://a.test/\($0)") }
    for key in keys { await machine.offer(key, Array("\(key)".utf8)) }
    let hosts = Set(
      server.requests.filter { $0.method.rawValue == "PUT" }.map(\.url.host))
    #expect(hosts.count == 3)
    server.setFault { $0.url.host == "two.test" ? .failure(.cannotConnect) : nil }
    var failures: [RemoteReason: Int] = [:]
    for key in keys {
      switch await machine.lookUp(key) {
      case .success(let bytes): #expect(bytes == Array("\(key)".utf8))
      case .failure(let reason): failures[reason, default: 0] += 1
      }
    }
    #expect(failures[.unreachable] ?? 0 <= 3)
    #expect((8...32).contains(failures[.absent] ?? 0), "its share is not on the others")
    #expect(failures.count == 2)
    server.setFault { _ in nil }
    machine.time.advance(bySeconds: 130)
    for key in keys { _ = await machine.lookUp(key) }
    await machine.waitForProbe()
    machine.time.advance(bySeconds: 130)
    for key in keys { #expect(await machine.lookUp(key) == .success(Array("\(key)".utf8))) }
  }
}
