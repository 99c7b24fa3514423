import CCurl
import CCurlLibrary
import HTTPTransport
import Synchronization

/// Owns libcurl's multi handle, the one thread that drives it, and the inbox of that thread.
///
/// Everything but ``submit(_:_:)`` and ``shutDown()`` happens on the thread.
@safe
final class TransferLoop: Sendable {
  /// Names what is asked of the thread.
  enum Command: Sendable {
    case start
    case resumeReceiving
    case resumeSending
    case remove
  }

  private struct Inbox {
    var commands: [(Transfer, Command)] = []
    var isShutDown = false
    /// Set once the thread takes no more commands.
    var isOver = false
  }

  let setup: CurlSetup
  let load: TransferLoad
  // Safety: written once, freed by deinit. The thread, which holds the loop, owns what it points to;
  // other threads only pass it to curl_multi_wakeup(3), which is safe from any thread.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
  /// libcurl calls back to them as it closes its connections. Used on the thread, and by deinit.
  private nonisolated(unsafe) let sockets = IdleSockets()
  private let inbox = Mutex(Inbox())

  /// Starts the thread.
  ///
  /// - Throws: ``TransportError/Code/failed`` if libcurl or the system cannot.
  init(_ setup: CurlSetup) throws(TransportError) {
    self.setup = setup
    load = TransferLoad(bufferBytes: setup.bufferBytes)
    guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
      throw TransportError(.failed, url: "http:", detail: "libcurl cannot be started")
    }
    unsafe self.multi = multi
    unsafe occurl_multi_set_long(
      multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, setup.connectionsPerHost))
    guard LoopThread.start({ self.run() }) else {
      throw TransportError(.failed, url: "http:", detail: "no thread can be started")
    }
  }

  deinit {
    _ = unsafe curl_multi_cleanup(multi)
  }

  /// Asks the thread to do something with a transfer; from any thread.
  func submit(_ transfer: Transfer, _ command: Command) {
    let (isOver, isFirst) = inbox.withLock { inbox in
      guard !inbox.isOver else { return (true, false) }
      inbox.commands.append((transfer, command))
      return (false, inbox.commands.count == 1)
    }
    if isOver { return _ = transfer.finish(.failure(transfer.error(.cancelled))) }
    // Without the lock, which the thread wants as soon as it is awake; and once for all that waits.
    if isFirst { unsafe curl_multi_wakeup(multi) }
  }

  /// Ends all transfers and the thread, without waiting for it; from any thread.
  func shutDown() {
    inbox.withLock { $0.isShutDown = true }
    unsafe curl_multi_wakeup(multi)
  }

  private func run() {
    let driver = unsafe TransferDriver(multi, setup, load, sockets)
    while let commands = nextCommands() {
      for (transfer, command) in commands { driver.perform(command, on: transfer) }
      driver.advance()
      driver.waitForEvents()
    }
    driver.removeAll()
    let left = inbox.withLock { inbox in
      inbox.isOver = true
      return inbox.commands
    }
    for (transfer, _) in left { transfer.finish(.failure(transfer.error(.cancelled))) }
  }

  /// Returns what has been asked since the last call; nil after the shut-down.
  private func nextCommands() -> [(Transfer, Command)]? {
    inbox.withLock { inbox in
      guard !inbox.isShutDown else { return nil }
      defer { inbox.commands = [] }
      return inbox.commands
    }
  }
}

/// Starts libcurl once for the process (curl_global_init(3)).
enum CurlLibrary {
  static let isReady = curl_global_init(occurl_global_default) == CURLE_OK
}
