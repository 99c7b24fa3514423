import CacheClient
import CacheStore
import ClientTesting
import Foundation
import HTTPSemantics
import RemoteTier
import TestSupport
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
      case .sharedCache: CacheRules(role: .sharedCache, setCookie: .keep)
      // The history must change nothing online.
      case .privateCache: .withHistory
      }
    }
  }

  /// Names the ways from the client to what is stored; all have to give the same answers.
  enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case disk, memory
    /// From disk, with a tier between the store and the origin.
    case tier

    var testDescription: String { "from \(rawValue)" }
  }

  /// Plays those cases that are meant for a role against the library, on one store.
  static func play(
    _ cases: [ConformanceCase], role: Role, way: Way = .disk
  ) async throws -> Scores {
    let folder = TemporaryFolder()
    let clock = VirtualClock()
    let store = try Store(
      at: folder.path, options: Options(memoryBytes: way == .memory ? 1 << 20 : 0, clock: clock))
    defer { store.close() }
    let origin = ScriptedOrigin(clock: clock)
    var options = ClientOptions()
    options.rules = role.rules
    if way == .tier { options.remote = try makeTier(clock) }
    let client = CachingClient(
      store: store, transport: OriginTransport(origin: origin), options: options, clock: clock)
    let cache = LibraryCache(client: client, asksStoreFirst: way == .memory)
    let replay = Replay(cache: cache, origin: origin, clock: clock)
    return try await play(cases, role: role, replay)
  }

  private static func makeTier(_ clock: VirtualClock) throws -> RemoteCache {
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://cache.test/")], secret: Array("0123456789abcdef".utf8))
    return RemoteCache(
      options: options, transport: MemoryServer(isBazel: true),
      clock: TierClock(monotonic: { clock.now() }, wall: clock))
  }

  /// Plays those cases that are meant for a role against no cache.
  static func playWithoutCache(_ cases: [ConformanceCase], role: Role) async throws -> Scores {
    let clock = VirtualClock()
    let origin = ScriptedOrigin(clock: clock)
    let cache = NoCache(transport: OriginTransport(origin: origin))
    return try await play(cases, role: role, Replay(cache: cache, origin: origin, clock: clock))
  }

  /// Plays in the order of the file: cases on which others depend come first there.
  private static func play(
    _ cases: [ConformanceCase], role: Role, _ replay: Replay
  ) async throws -> Scores {
    let meant = cases.filter { $0.modes.contains(role.rawValue) && !$0.isProxyOnly }
    var outcomes: [String: Outcome] = [:]
    for (number, test) in meant.enumerated() {
      outcomes[test.id] = try await replay.outcome(of: test, number: number)
    }
    return Scores(meant, outcomes: outcomes)
  }
}
