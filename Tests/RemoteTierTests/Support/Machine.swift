import CacheFormat
import CacheSystem
import HTTPTransports
import MessageDigests
import Synchronization
import TestSupport

@testable import RemoteTier

extension TestClock {
  var clock: TierClock { TierClock(monotonic: { self.now() }, wall: self) }
}

/// Collects the notices of a tier.
final class Notices: Sendable {
  private let list = Mutex<[RemoteNotice]>([])
  var all: [RemoteNotice] { list.withLock { $0 } }
  func add(_ notice: RemoteNotice) { list.withLock { $0.append(notice) } }
}

/// A machine that shares a tier with others.
struct Machine {
  static let secret = Array("a secret of enough bytes".utf8)
  static let base = "http://cache.test/team/"

  let tier: RemoteCache
  let time: TestClock
  let notices = Notices()

  init(
    _ transport: any HTTPTransport, time: TestClock = TestClock(), bases: [String] = [base],
    access: RemoteServer.Access = .open, namespace: String = "default",
    secret: [UInt8] = secret, mode: RemoteMode = .both,
    _ change: (inout RemoteCacheOptions) -> Void = { _ in }
  ) throws {
    var options = try RemoteCacheOptions(
      servers: try bases.map { try RemoteServer($0, access: access) }, namespace: namespace,
      secret: secret, mode: mode)
    options.onNotice = { [notices] in notices.add($0) }
    options.limits.settle = .milliseconds(1)
    change(&options)
    self.time = time
    tier = RemoteCache(options: options, transport: transport, clock: time.clock)
  }

  /// Waits until a probe that a look-up has started has a result.
  func waitForProbe() async {
    await eventually { !tier.statistics.servers.contains { $0.reading == "probing" } }
  }

  /// Offers a response and waits until it is uploaded.
  func offer(
    _ key: ByteString, _ body: [UInt8], selecting: [ByteString] = [], tags: [ByteString] = [],
    received: Int64 = 0, seen: UInt64? = nil
  ) async {
    offerOnly(key, body, selecting: selecting, tags: tags, received: received, seen: seen)
    await tier.drain()
  }

  func offerOnly(
    _ key: ByteString, _ body: [UInt8], selecting: [ByteString] = [], tags: [ByteString] = [],
    received: Int64 = 0, seen: UInt64? = nil
  ) {
    let response = Self.response(body, selecting: selecting, tags: tags, received: received)
    tier.offer(
      key, variant: UInt64(truncatingIfNeeded: selecting.hashValue), length: response.length,
      seen: seen ?? tier.purgeNumber
    ) { RemoteOffer(response: response) { .bytes(body) } }
  }

  static func response(
    _ body: [UInt8], selecting: [ByteString] = [], tags: [ByteString] = [], received: Int64 = 0
  ) -> SharedResponse {
    SharedResponse(
      SharedForm(
        selecting: selecting, status: 200, fields: [Field("Cache-Control", "max-age=100")],
        tags: tags, requested: Timestamp(nanoseconds: received),
        received: Timestamp(nanoseconds: received)),
      bodyDigest: MessageDigest.of(body, .sha256), length: UInt64(body.count),
      inlineBody: body.count <= SharedResponse.inlineBytes ? body : nil)
  }

  /// Looks a key up and reads the body.
  func lookUp(
    _ key: ByteString, selecting: [ByteString] = []
  ) async -> Result<[UInt8], RemoteReason> {
    do throws(RemoteReason) {
      let found = try await tier.lookUp(key) { responses in
        responses.firstIndex { $0.form.selecting == selecting }.map { .success($0) }
          ?? .failure(.noVariant)
      }
      var bytes: [UInt8] = []
      while let piece = try await found.body.next() { bytes += piece }
      return .success(bytes)
    } catch {
      return .failure(error)
    }
  }
}
