import CacheClient
import CacheStore
import ClientTesting
import Foundation
import RemoteTier
import Testing

/// Makes caches and plays cases against them.
struct Laboratory {
  /// Gives a kind of cache the name that the cases use.
  enum Role: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sharedCache = "shared"
    case privateCache = "private"

    var testDescription: String { rawValue }

    var rules: CacheRules {
      switch self {
      case .sharedCache:
        // The cases are those of a reverse proxy.
        var rules = CacheRules(role: .sharedCache, setCookie: .keep)
        rules.targetedFields = CacheRules.fieldsForCDNs
        return rules
      // The history must change nothing online.
      case .privateCache: return .withHistory
      }
    }
  }

  /// Names the ways from the client to what is stored; all have to give the same answers.
  enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case disk, memory
    /// From disk, with a tier between the store and the origin, on each of three machines.
    case tier
    /// As ``tier``, but each request of a case goes to the next machine. What must not be done
    /// must not be done there either; what may be stored is not on all machines.
    case team

    var testDescription: String { "from \(rawValue)" }
  }

  /// Plays those cases that are meant for a role against the library.
  ///
  /// - Returns: the scores of each machine that plays all of them.
  static func play(
    _ cases: [ConformanceCase], role: Role, way: Way = .disk
  ) async throws -> [Scores] {
    let clock = TestClock()
    let origin = ScriptedOrigin(clock: clock)
    let server = MemoryServer(isBazel: true)
    let folder = TemporaryFolder()
    var machines: [LibraryCache] = []
    for number in 0..<(way == .tier || way == .team ? 3 : 1) {
      let store = try Store(
        at: "\(folder.path)/\(number)",
        options: Options(memoryBytes: way == .memory ? 1 << 20 : 0, clock: clock))
      var options = ClientOptions()
      options.rules = role.rules
      if way == .tier || way == .team { options.remote = try makeTier(server, clock) }
      let client = CachingClient(
        store: store, transport: OriginTransport(origin: origin), options: options, clock: clock)
      machines.append(LibraryCache(client: client, asksStoreFirst: way == .memory))
    }
    defer { for machine in machines { machine.client.store.close() } }
    if way == .team {
      let replay = Replay(cache: RotatingCache(machines), origin: origin, clock: clock)
      return [try await play(cases, role: role, replay)]
    }
    var scores: [Scores] = []
    for (number, machine) in machines.enumerated() {
      let replay = Replay(cache: machine, origin: origin, clock: clock)
      scores.append(try await play(cases, role: role, replay, first: number * 10_000))
    }
    return scores
  }

  private static func makeTier(
    _ server: MemoryServer, _ clock: TestClock
  ) throws -> RemoteCache {
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://cache.test/")], secret: Array("0123456789abcdef".utf8))
    return RemoteCache(
      options: options, transport: server,
      clock: TierClock(monotonic: { clock.now() }, wall: clock))
  }

  /// Plays those cases that are meant for a role against no cache.
  static func playWithoutCache(_ cases: [ConformanceCase], role: Role) async throws -> Scores {
    let clock = TestClock()
    let origin = ScriptedOrigin(clock: clock)
    let cache = NoCache(transport: OriginTransport(origin: origin))
    return try await play(cases, role: role, Replay(cache: cache, origin: origin, clock: clock))
  }

  /// Plays in the order of the file: cases on which others depend come first there.
  private static func play(
    _ cases: [ConformanceCase], role: Role, _ replay: Replay, first: Int = 0
  ) async throws -> Scores {
    let meant = cases.filter { $0.modes.contains(role.rawValue) && !$0.isProxyOnly }
    var outcomes: [String: Outcome] = [:]
    for (number, test) in meant.enumerated() {
      outcomes[test.id] = try await replay.outcome(of: test, number: first + number)
    }
    return Scores(meant, outcomes: outcomes)
  }
}
