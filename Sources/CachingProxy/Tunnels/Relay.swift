import CacheSystem
import HTTPTransports

/// The two connections of a tunnel, and the bytes between them. Used by one ``RelayLoop``.
final class Relay {
  /// The end of a tunnel.
  struct Result: Sendable, Hashable {
    /// The bytes that were passed to the client, without those of the proxy, and to the server.
    let toClient: UInt64
    let toServer: UInt64
    /// Whether both sides have sent their last byte; false if the tunnel was cut.
    let isComplete: Bool
  }

  /// The longest time without a byte after one side has sent its last one.
  static let halfClosedIdle = Duration.seconds(60)

  private let client: any TunnelEnd
  private let server: any TunnelEnd
  private var up: TunnelFlow
  private var down: TunnelFlow
  private let headCount: UInt64
  private let idle: Duration
  private let isRefusal: Bool
  /// The result of the last ``move(_:at:)``; before the first one, there may be bytes to move.
  private(set) var outcome = TunnelFlow.Outcome.unfinished
  private var deadline: ContinuousClock.Instant
  private let ended: @Sendable (Result) -> Void

  /// Creates a tunnel, which takes over both connections.
  ///
  /// - Parameters:
  ///   - head: The proxy's own bytes, which the client gets first.
  ///   - first: The bytes that were received from each side before.
  ///   - idle: The longest time without a byte in any direction.
  ///   - isRefusal: Whether that is the longest time altogether.
  ///   - ended: Called once when the tunnel has ended.
  init(
    client: any TunnelEnd, server: any TunnelEnd, head: [UInt8],
    first: (fromClient: [UInt8], fromServer: [UInt8]), idle: Duration, isRefusal: Bool = false,
    ended: @escaping @Sendable (Result) -> Void
  ) {
    self.client = client
    self.server = server
    up = TunnelFlow(first.fromClient)
    down = TunnelFlow(head + first.fromServer)
    headCount = UInt64(head.count)
    self.idle = idle
    self.isRefusal = isRefusal
    self.ended = ended
    deadline = .now + idle
  }

  /// The descriptors and events for poll(2); a negative descriptor for a side that is not waited
  /// for.
  var watched: [Poll.Watched] {
    [
      Poll.Watched(client.descriptor, reads: up.wantsToRead, writes: down.wantsToWrite),
      Poll.Watched(server.descriptor, reads: down.wantsToRead, writes: up.wantsToWrite),
    ]
  }

  /// Moves bytes in both directions as long as no side has to be waited for.
  func move(_ buffer: UnsafeMutableRawBufferPointer, at now: ContinuousClock.Instant) {
    let before = up.count + down.count
    let wasHalfClosed = isHalfClosed
    defer {
      if !wasHalfClosed, isHalfClosed, !isRefusal {
        deadline = min(deadline, now + min(idle, Self.halfClosedIdle))
      }
    }
    outcome = unsafe up.move(from: client, to: server, buffer)
    if outcome == .refused {
      // A server may answer and close while the client still sends. Its answer can be read even
      // after a reset.
      up.discard()
      outcome = .unfinished
    }
    if outcome == .broken { return }
    var second = unsafe down.move(from: server, to: client, buffer)
    if second == .broken, up.holdsBytes {
      // The same, if the reset came between the two. It is reported once; then the end follows.
      up.discard()
      second = unsafe down.move(from: server, to: client, buffer)
    }
    if up.count + down.count > before, !isRefusal {
      deadline = now + (isHalfClosed ? min(idle, Self.halfClosedIdle) : idle)
    }
    if second != .waiting { outcome = second }
  }

  private var isHalfClosed: Bool { up.hasEnded || up.isDiscarding || down.hasEnded }

  /// Whether the tunnel has to be closed, apart from ``end``.
  var isOver: Bool {
    outcome == .broken || outcome == .refused || (up.isFinished && down.isFinished)
  }

  /// The time at which the tunnel ends if no byte is moved before.
  var end: ContinuousClock.Instant { deadline }

  /// Closes both connections; must be called once.
  func close() {
    // First, because the library reports the end of a request when its connection is closed.
    let toClient = down.count - min(headCount, down.count)
    let isServerDone = up.isFinished && !up.isDiscarding
    ended(
      Result(toClient: toClient, toServer: up.count, isComplete: isServerDone && down.isFinished))
    // A reset would drop what the system has not sent yet.
    client.close(isBroken: !down.isFinished)
    server.close(isBroken: !isServerDone)
  }
}
