import CCurl
import CCurlLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// libcurl's multi handle, and the one thread that uses it.
///
/// All other threads put commands into an inbox and wake that thread.
@safe
final class TransferLoop: Sendable {
  /// A command to the thread that runs libcurl.
  enum Command: Sendable {
    case start
    case carryOut(Transfer.Request)
  }

  private struct State {
    var commands: [(Transfer, Command)] = []
    /// The callers of ``TransferLoop/reset()`` that wait.
    var resets: [CheckedContinuation<Void, Never>] = []
    var isShutDown = false
    /// Whether the thread accepts no more commands.
    var isOver = false
  }

  let setup: NetworkSetup
  let load: TransferLoad
  let lookUps = NameLookUps()
  // Safety: written once, freed by deinit. The loop's thread uses the pointed-to handle; others
  // only pass it to curl_multi_wakeup(3), which is safe from any thread.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
  /// The sockets that libcurl closes through callbacks. Used by the loop's thread, and by deinit.
  private nonisolated(unsafe) let sockets: IdleSockets
  private let state = Lock(State())

  /// Starts the thread.
  ///
  /// - Throws: ``TransportError/Code/failed`` if libcurl or the system cannot do that.
  init(_ setup: NetworkSetup) throws(TransportError) {
    self.setup = setup
    load = TransferLoad(bufferBytes: setup.bufferBytes)
    unsafe sockets = IdleSockets(mayEncryptProxy: setup.mayEncryptProxy)
    guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
      throw TransportError(.failed, url: "http:", detail: "libcurl cannot be started")
    }
    unsafe self.multi = multi
    unsafe occurl_multi_set_long(
      multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.connectionsPerHost(setup))
    unsafe occurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, setup.connections)
    do throws(SystemError) {
      try startThread {
        blockSignals()
        self.run()
      }
    } catch {
      throw TransportError(.failed, url: "http:", detail: "no thread can be started")
    }
  }

  deinit {
    _ = unsafe curl_multi_cleanup(multi)
  }

  /// Returns the limit of connections to one host for libcurl; 0 for none.
  ///
  /// If there may be a proxy for http, libcurl would count the connections to all hosts behind it
  /// together. Then ``OriginQueues`` alone limits them.
  static func connectionsPerHost(
    _ setup: NetworkSetup, variable: (String) -> String? = UserPath.environment
  ) -> Int {
    let mayUseProxy =
      switch setup.proxy {
      case .none: false
      case .url: true
      case .environment:
        ["http_proxy", "all_proxy", "ALL_PROXY"].contains { variable($0)?.isEmpty == false }
      }
    return mayUseProxy ? 0 : max(0, setup.connectionsPerHost)
  }

  /// Puts a command for a transfer into the inbox; from any thread.
  func submit(_ transfer: Transfer, _ command: Command) {
    let (isOver, isFirst) = state.withLock { state in
      guard !state.isOver else { return (true, false) }
      state.commands.append((transfer, command))
      return (false, state.commands.count == 1)
    }
    if isOver { transfer.finish(.failure(transfer.error(.cancelled))) }
    // One wake-up is enough for all waiting commands.
    if isFirst { unsafe curl_multi_wakeup(multi) }
  }

  /// Ends all transfers, and forgets all cookies.
  func reset() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.resets.append(continuation) }
        return state.isOver
      }
      if isOver { callOut { continuation.resume() } }
      unsafe curl_multi_wakeup(multi)
    }
  }

  /// Ends all transfers and the thread, without waiting for it; from any thread.
  func shutDown() {
    state.withLock { $0.isShutDown = true }
    unsafe curl_multi_wakeup(multi)
  }

  private func run() {
    let driver = unsafe TransferDriver(multi, setup, load, sockets, lookUps)
    while let (commands, resets) = takeCommands() {
      for (transfer, command) in commands { driver.perform(command, on: transfer) }
      if !resets.isEmpty { driver.reset() }
      for caller in resets { callOut { caller.resume() } }
      driver.advance()
      driver.waitForEvents()
    }
    driver.removeAll()
    let (left, resets) = state.withLock { state in
      state.isOver = true
      return (state.commands, state.resets)
    }
    for caller in resets { callOut { caller.resume() } }
    for (transfer, _) in left { transfer.finish(.failure(transfer.error(.cancelled))) }
  }

  /// Returns the commands since the last call, or `nil` after the shut-down.
  private func takeCommands() -> ([(Transfer, Command)], [CheckedContinuation<Void, Never>])? {
    state.withLock { state in
      guard !state.isShutDown else { return nil }
      defer { (state.commands, state.resets) = ([], []) }
      return (state.commands, state.resets)
    }
  }
}

/// Initialises libcurl once for the process (curl_global_init(3)).
enum CurlLibrary {
  static let isReady = occurl_global_init() == CURLE_OK
}
