import CacheSystem
import HTTPSemantics
import Synchronization

/// The objects that all exchanges of a server share.
final class ProxyCore: Sendable {
  let backend: any ProxyBackend
  let router: TargetRouter
  let identity: ProxyIdentity
  /// The rule for telling the origin about the client; `nil` for a forward proxy, which tells
  /// nothing.
  let forwarding: ClientForwarding?
  let pages: ProxyStatus?
  let observers: [any ProxyObserver]
  let clock: any WallClock
  /// Whether clients use TLS: then only the server library may write to their sockets.
  let isEncrypted: Bool
  /// Ends connections without requests; `nil` if the system has no thread for it.
  let watch: HeadWatch?
  /// The longest time in which a client may accept no byte.
  let patience: Duration
  let connections = ConnectionCount()
  let exchanges = ExchangeRegistry()
  let fileBuffers = FileBuffers()
  private let stopping = Atomic<Bool>(false)
  private let active = Atomic<Int>(0)
  private let tunnels = Mutex<TunnelDesk?>(nil)
  private let interception = Mutex<Interceptor?>(nil)

  init(
    backend: any ProxyBackend, router: TargetRouter, identity: ProxyIdentity,
    trustsForwarded: Bool = false, scheme: NormalizedURL.Scheme = .http,
    pages: ProxyStatus?, observers: [any ProxyObserver], clock: any WallClock,
    patience: Duration = .seconds(75)
  ) {
    self.backend = backend
    self.router = router
    self.identity = identity
    forwarding =
      router.origin == nil
      ? nil : ClientForwarding(trustsClients: trustsForwarded, scheme: scheme)
    isEncrypted = scheme == .https
    watch = HeadWatch(patience: patience, exchanges)
    self.pages = pages
    self.observers = observers
    self.clock = clock
    self.patience = patience
  }

  /// Returns a request for a look-up in the store.
  func request(_ head: RequestHead, to url: NormalizedURL) -> HTTPRequest {
    var request = identity.forwarded(head, to: url)
    forwarding?.clean(&request.fields)
    return request
  }

  /// Whether each answer ends its connection.
  var isStopping: Bool { stopping.load(ordering: .relaxed) }

  /// Makes each connection end with its next answer.
  func beginStopping() { stopping.store(true, ordering: .relaxed) }

  /// The number of requests whose answers have not ended.
  var activeCount: Int { active.load(ordering: .acquiring) }

  func begin() { active.add(1, ordering: .relaxed) }

  /// Opens tunnels; `nil` if there are none.
  var desk: TunnelDesk? {
    get { tunnels.withLock { $0 } }
    set { tunnels.withLock { $0 = newValue } }
  }

  /// Intercepts connections to other servers; `nil` if they are tunnelled.
  var interceptor: Interceptor? {
    get { interception.withLock { $0 } }
    set { interception.withLock { $0 = newValue } }
  }

  /// Notes that the connection of a request became a tunnel: a server that stops does not wait for
  /// it.
  func becomeTunnel() {
    active.subtract(1, ordering: .releasing)
    notify { $0.tunnelBegan() }
  }

  /// Calls a method of each observer.
  func notify(_ call: (any ProxyObserver) -> Void) {
    for observer in observers { callOut { call(observer) } }
  }

  /// Notifies the observers of an answer; not for tunnels, which do not count as active.
  func finish(_ record: AnswerRecord) {
    notify { $0.answered(record) }
    active.subtract(1, ordering: .releasing)
  }
}

/// The exchanges with a running task, so that none is left waiting when the server stops.
final class ExchangeRegistry: Sendable {
  private struct State {
    var exchanges: [ObjectIdentifier: Exchange] = [:]
    var isClosed = false
  }

  private let state = Lock(State())

  /// Adds an exchange; returns `false` if the server is stopping.
  func add(_ exchange: Exchange) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.exchanges[ObjectIdentifier(exchange)] = exchange
      return true
    }
  }

  func remove(_ exchange: Exchange) {
    _ = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) }
  }

  /// Ends the exchanges whose clients have left.
  func noticeLeaving() {
    for exchange in state.withLock({ Array($0.exchanges.values) }) { exchange.noticeLeaving() }
  }

  /// Accepts no more exchanges, and ends the present ones.
  func abortAll() {
    let all = state.withLock { state in
      state.isClosed = true
      return Array(state.exchanges.values)
    }
    for exchange in all { exchange.abort() }
  }
}
