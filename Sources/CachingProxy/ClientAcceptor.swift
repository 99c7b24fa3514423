import CLibrary
import CacheSystem
import HTTPTransports

/// Accepts connections, and finds out which begin with `CONNECT` in a forward proxy.
///
/// Those become tunnels; libmicrohttpd, which cannot answer `CONNECT`, gets the others. The first
/// bytes are only looked at (MSG_PEEK), so it reads them as if it had accepted the connection
/// itself. One thread does this for all connections, and waits for none of them alone.
final class ClientAcceptor: Sendable {
  /// What becomes of connections.
  struct Receivers: Sendable {
    /// Whether another connection may be accepted, beside those that have not been handed over yet.
    let hasRoom: @Sendable (_ waiting: Int) -> Bool
    /// Takes over a connection that does not begin with `CONNECT`.
    let request: @Sendable (NewClient) -> Void
    /// Takes over a connection with the head of a `CONNECT`, which was read; `nil` if no connection
    /// is looked at.
    let connect: Connect?

    typealias Connect = @Sendable (NewClient, _ head: [UInt8]) -> Void
  }

  private let listener: Int32
  private let maximumWaiting: Int
  private let patience: Duration
  private let receivers: Receivers
  private let poll: Poll
  private let state = Monitor((isStopping: false, hasEnded: false))

  /// Starts the thread, which takes over the listening socket; returns `nil` if the system cannot.
  ///
  /// - Parameters:
  ///   - patience: The time in which a client has to send its first bytes, or all of the head of a
  ///     `CONNECT`.
  ///   - maximumWaiting: The most connections that have not done that yet. The oldest is closed
  ///     for another.
  init?(listener: Int32, patience: Duration, maximumWaiting: Int, _ receivers: Receivers) {
    guard let poll = try? Poll() else { return nil }
    self.listener = listener
    self.patience = patience
    self.maximumWaiting = max(1, maximumWaiting)
    self.receivers = receivers
    self.poll = poll
    let started: Void? = try? startThread { [self] in
      blockSignals()
      run()
      state.change { $0.hasEnded = true }
    }
    if started == nil { return nil }
  }

  /// Accepts no more connections, closes those that have not sent a request, and returns when that
  /// is done. A second call does nothing.
  func stop() {
    state.change { $0.isStopping = true }
    poll.wake()
    state.wait { $0.hasEnded ? () : nil }
  }

  private func run() {
    var waiting: [WaitingClient] = []
    /// While there is no room, or no descriptor is left, it looks again after a moment.
    var pauseEnd: ContinuousClock.Instant?
    while !state.change({ $0.isStopping }) {
      let now = ContinuousClock.now
      if let end = pauseEnd, end <= now { pauseEnd = nil }
      if pauseEnd == nil, !receivers.hasRoom(waiting.count) { pauseEnd = now + .milliseconds(50) }
      let watched =
        [Poll.Watched(listener, reads: pauseEnd == nil)]
        + waiting.map { Poll.Watched($0.client.descriptor, reads: true) }
      let end = waiting.first.map(\.deadline) ?? now + .seconds(3600)
      let isReady = poll.wait(for: watched, until: min(end, pauseEnd ?? end))
      if isReady.dropFirst().contains(true) || end <= .now {
        waiting = advance(waiting, isReady.dropFirst())
      }
      if isReady[0], !accept(&waiting) { pauseEnd = .now + .milliseconds(50) }
    }
    for client in waiting { client.client.close() }
    CLibrary.close(listener)
  }

  /// Accepts the connections that are there; returns `false` if the system has no room for more.
  private func accept(_ waiting: inout [WaitingClient]) -> Bool {
    for _ in 0..<64 {
      guard receivers.hasRoom(waiting.count) else { return false }
      switch NewClient.accept(listener) {
      case .client(let client) where receivers.connect == nil: receivers.request(client)
      case .client(let client):
        if waiting.count >= maximumWaiting, let oldest = advance(waiting.removeFirst()) {
          close(oldest)
        }
        // Most clients send their request at once.
        if let rest = advance(WaitingClient(client, deadline: .now + patience)) {
          waiting.append(rest)
        }
      case .none: return true
      case .lost: continue
      case .full: return false
      }
    }
    return true
  }

  /// Looks at the clients that have sent something, and closes those whose time is over.
  ///
  /// - Returns: Those that have to send more.
  private func advance(_ waiting: [WaitingClient], _ isReady: ArraySlice<Bool>) -> [WaitingClient] {
    let now = ContinuousClock.now
    return zip(waiting, isReady).compactMap { client, isReady in
      if isReady { return advance(client) }
      guard client.deadline <= now else { return client }
      close(client)
      return nil
    }
  }

  private func close(_ client: WaitingClient) {
    // Whoever has begun a CONNECT gets an answer.
    if client.head.isEmpty { client.client.close() } else { connect(client) }
  }

  /// Looks at the bytes of a client; returns it if it has to send more.
  private func advance(_ waiting: WaitingClient) -> WaitingClient? {
    var waiting = waiting
    switch waiting.look() {
    case .wait: return waiting
    case .gone: waiting.client.close()
    case .request: receivers.request(waiting.client)
    case .connect: connect(waiting)
    }
    return nil
  }

  private func connect(_ waiting: WaitingClient) {
    guard let connect = receivers.connect else { return waiting.client.close() }
    connect(waiting.client, waiting.head)
  }
}
