import CacheSystem
import ClientTesting
import Foundation
import Synchronization
import Testing

@testable import CacheClient

@Suite(.serialized, .timeLimit(.minutes(30)))
struct AttackTests {
  /// How many requests each run makes; a long run sets the variable.
  private static let operations =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_OPERATIONS"].flatMap { Int($0) } ?? 2000

  private static let tasks = 8

  /// What a caller asks for.
  private struct Wish {
    var path: Int
    var request: HTTPRequest
    var policy = CachePolicy.protocolRules
  }

  @Test(
    arguments: [UInt64.random(in: 0..<1 << 32), 1, 2])
  func `whatever many tasks ask and the origin does, no answer has bytes of another one`(
    seed: UInt64
  ) async throws {
    print("AttackTests: seed \(seed), \(Self.operations) requests")
    let origin = RandomOrigin(seed: seed)
    let folder = TemporaryFolder()
    let path = folder.path + "/store"
    let clock = TestClock()
    let store = try Store(at: path, options: Options(memoryBytes: seed % 2 == 0 ? 1 << 20 : 0))
    let client = CachingClient(store: store, transport: origin, clock: clock)
    let found = await attack(client, origin, clock, seed)
    await client.waitForBackground()
    await eventually { client.flights.flights.withLock { $0.isEmpty } }
    await eventually { origin.openBodies == 0 }
    print("AttackTests: \(found)")
    #expect(found.fromStore > 0 && found.fromNetwork > 0 && found.failed > 0)
    // Replaced keys lie in the session until the next entries are settled.
    try store.settle()
    let staging = try FileManager.default.subpathsOfDirectory(atPath: "\(path)/staging")
    #expect(staging.allSatisfy { !$0.contains("/") || $0.hasSuffix("/lock") }, "\(staging)")
    store.close()
    try await checkStored(path, origin, clock)
  }

  /// Counts what came out.
  private struct Found: CustomStringConvertible {
    var fromStore = 0
    var fromNetwork = 0
    var collapsed = 0
    var failed = 0

    var description: String {
      "\(fromStore) from the store, \(fromNetwork) from the network, \(collapsed) shared, "
        + "\(failed) failed"
    }
  }

  private func attack(
    _ client: CachingClient, _ origin: RandomOrigin, _ clock: TestClock, _ seed: UInt64
  ) async -> Found {
    await withTaskGroup(of: Found.self) { group in
      for number in 0..<Self.tasks {
        group.addTask {
          var random = SplitMix64(seed: seed &+ UInt64(number) &* 7919)
          var found = Found()
          for _ in 0..<Self.operations / Self.tasks {
            await step(client, origin, &random, &found)
            if random.next() % 8 == 0 { clock.advance(bySeconds: Double(random.next() % 3)) }
          }
          return found
        }
      }
      return await group.reduce(into: Found()) { sum, found in
        sum.fromStore += found.fromStore
        sum.fromNetwork += found.fromNetwork
        sum.collapsed += found.collapsed
        sum.failed += found.failed
      }
    }
  }

  private func step(
    _ client: CachingClient, _ origin: RandomOrigin, _ random: inout SplitMix64,
    _ found: inout Found
  ) async {
    // Some are asked for more often than others, so that several ask at once.
    let place = random.next() % UInt64(2 * RandomOrigin.paths)
    let path = place < RandomOrigin.paths ? Int(place) : Int(place % 2)
    switch random.next() % 40 {
    case 0:
      let post = request("/\(path)", method: "POST")
      guard let response = try? await client.fetch(post), response.head.status == 200,
        let text = response.head.fields.first(named: "X-Id")?.text,
        let identity = Identity(text)
      else { return }
      // From here on nobody may see what was before.
      origin.raiseFloor(of: path, to: identity.version)
    case 1: _ = try? client.store.remove(client.cache.key(of: request("/\(path)")))
    case 2, 3:
      let wish = wish(path, &random)
      let task = Task { try await client.data(for: wish.request) }
      for _ in 0..<random.next() % 20 { await Task.yield() }
      task.cancel()
      _ = try? await task.value
    default: await ask(wish(path, &random), client, origin, &random, &found)
    }
  }

  private func wish(_ path: Int, _ random: inout SplitMix64) -> Wish {
    var fields: HTTPFields = []
    if random.next() % 3 > 0 { fields.append(HTTPField("Prefer", "k\(random.next() % 3)")) }
    if random.next() % 3 == 0 { fields.append(HTTPField("Authorization", "u\(random.next() % 2)")) }
    if random.next() % 5 == 0 {
      let first = random.next() % 2 == 0 ? 0 : random.next() % 70_000
      let last = random.next() % 3 == 0 ? "" : "\(first + random.next() % 100_000)"
      fields.append(HTTPField("Range", "bytes=\(first)-\(last)"))
    }
    switch random.next() % 12 {
    case 0: fields.append(HTTPField("Cache-Control", "no-cache"))
    case 1: fields.append(HTTPField("Cache-Control", "max-stale=5"))
    case 2: fields.append(HTTPField("Cache-Control", "max-age=1"))
    default: break
    }
    let isHead = random.next() % 15 == 0 && RandomOrigin.hasValidator(path)
    let method = isHead ? "HEAD" : "GET"
    var wish = Wish(path: path, request: request("/\(path)", fields, method: method))
    let policies = CachePolicy.allCases
    if random.next() % 4 == 0 {
      wish.policy = policies[Int(random.next() % UInt64(policies.count))]
    }
    return wish
  }

  private func ask(
    _ wish: Wish, _ client: CachingClient, _ origin: RandomOrigin, _ random: inout SplitMix64,
    _ found: inout Found
  ) async {
    let floor = origin.floor(of: wish.path)
    let current = origin.version(of: wish.path)
    do {
      let response = try await client.fetch(
        wish.request, options: FetchOptions(policy: wish.policy))
      if response.reason == nil { found.fromStore += 1 } else { found.fromNetwork += 1 }
      if response.cacheStatus.isCollapsed { found.collapsed += 1 }
      var body: [UInt8] = []
      let patience = random.next() % 10 == 0 ? Int(random.next() % 100_000) : .max
      while let piece = try await response.body.next() {
        if piece.isEmpty { Issue.record("a piece is empty") }
        body += piece
        if body.count > patience {
          response.body.cancel()
          return
        }
        if random.next() % 4 == 0 { await Task.yield() }
      }
      check(response, body, wish, floor: floor)
      if wish.policy == .reload || wish.policy == .reloadFromOrigin {
        let identity = response.head.fields.first(named: "X-Id").flatMap { Identity($0.text) }
        #expect(identity == nil || (identity?.version ?? 0) >= current, "\(response.head)")
      }
    } catch {
      found.failed += 1
    }
  }

  private func check(_ response: ClientResponse, _ body: [UInt8], _ wish: Wish, floor: Int) {
    let head = response.head
    if head.status == 503 && response.reason != nil { return }
    guard let text = head.fields.first(named: "X-Id")?.text, let identity = Identity(text) else {
      Issue.record("an answer of nobody: \(head)")
      return
    }
    let kind = wish.request.fields.first(named: "Prefer")?.text ?? "-"
    let user = wish.request.fields.first(named: "Authorization")?.text ?? "-"
    let note = "\(wish.request) \(wish.policy) \(response.cacheStatus) \(head)"
    #expect(identity.path == wish.path, "\(note)")
    #expect(identity.kind == (RandomOrigin.varies(wish.path) ? kind : "-"), "\(note)")
    #expect(identity.user == (RandomOrigin.isPersonal(wish.path) ? user : "-"), "\(note)")
    #expect(identity.version >= floor, "floor \(floor): \(note)")
    if head.fields.contains("X-Bad") {
      // The origin's own mistake is handed on once, and never kept.
      guard case .network = response.source else {
        Issue.record("a part that is not what it says was kept: \(note)")
        return
      }
      return
    }
    if wish.request.method == .head || head.status == 416 || head.status == 304 {
      #expect(body.isEmpty, "\(note)")
      return
    }
    checkBytes(head, body, identity, note)
  }

  private func checkBytes(
    _ head: HTTPResponseHead, _ body: [UInt8], _ identity: Identity, _ note: String
  ) {
    let whole = identity.body
    if head.status == 200 {
      // Compared apart: to tell the difference of two long bodies takes minutes.
      let isRight = body == whole
      #expect(isRight, "\(body.count) bytes for \(whole.count): \(note)")
      return
    }
    guard head.status == 206,
      let range = ContentRange(head.fields.first(named: "Content-Range")?.value ?? [])
    else {
      Issue.record("\(note)")
      return
    }
    #expect(range.completeLength == UInt64(whole.count), "\(note)")
    guard range.last < UInt64(whole.count) else {
      Issue.record("\(note)")
      return
    }
    let isRight = body == Array(whole[Int(range.first)...Int(range.last)])
    #expect(isRight, "\(body.count) bytes: \(note)")
  }

  /// Opens the store again, without a network: what is in it is whole and right.
  private func checkStored(_ path: String, _ origin: RandomOrigin, _ clock: TestClock) async throws
  {
    let store = try Store(at: path)
    defer { store.close() }
    let client = CachingClient(
      store: store, transport: FailingTransport(.cannotResolve), clock: clock)
    var count = 0
    for number in 0..<RandomOrigin.paths {
      for kind in ["-", "k0", "k1", "k2"] {
        for user in ["-", "u0", "u1"] {
          var fields: HTTPFields = []
          if kind != "-" { fields.append(HTTPField("Prefer", kind)) }
          if user != "-" { fields.append(HTTPField("Authorization", user)) }
          let wish = Wish(path: number, request: request("/\(number)", fields), policy: .offline)
          let options = FetchOptions(policy: .offline)
          guard let answer = try? await client.data(for: wish.request, options: options) else {
            continue
          }
          count += 1
          check(answer.response, answer.bytes, wish, floor: origin.floor(of: number))
        }
      }
    }
    #expect(count > 0)
    #expect(store.statistics.damagedMisses == 0)
  }
}
