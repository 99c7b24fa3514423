#if os(Linux)
  import CacheSystem
  import Synchronization

  /// Watches the network on its own thread, which sleeps until the kernel reports a change.
  final class NetlinkWatcher: Sendable {
    /// The time without a message after which the state is read: the kernel reports a new
    /// link in several steps.
    private static let quiet = Duration.milliseconds(20)
    /// The limit of such waits in a row.
    private static let quietRounds = 10
    /// The time after which a failed look is repeated.
    private static let retry = Duration.seconds(1)

    private let changes: NetlinkSocket
    private let survey: NetworkSurvey
    private let poll: Poll
    private let isStopped = Atomic(false)

    /// Opens the sockets. The thread is started by ``start(_:)``.
    init(_ options: ReachabilityOptions) throws(ReachabilityError) {
      do throws(SystemError) {
        // The socket for notifications is opened first, so that changes after the first look are
        // reported.
        changes = try NetlinkSocket(listens: true)
        survey = NetworkSurvey(
          socket: try NetlinkSocket(listens: false), options: options)
        poll = try Poll()
      } catch {
        throw ReachabilityError(.open, error)
      }
    }

    func look() throws(ReachabilityError) -> NetworkState {
      var sequence: UInt32 = 0
      do throws(SystemError) {
        return try survey.state(&sequence)
      } catch {
        throw ReachabilityError(.ask, error)
      }
    }

    /// Starts watching. The closure is called with the state after each change, which may be the
    /// same state.
    func start(_ tell: @escaping @Sendable (NetworkState) -> Void) throws(ReachabilityError) {
      do throws(SystemError) {
        try startThread { [self] in watch(tell) }
      } catch {
        throw ReachabilityError(.thread, error)
      }
    }

    /// Asks the thread to end. It ends soon, and then the descriptors are closed.
    func stop() {
      isStopped.store(true, ordering: .releasing)
      poll.wake()
    }

    private func watch(_ tell: @Sendable (NetworkState) -> Void) {
      // The numbers differ from those that `look` uses.
      var sequence: UInt32 = 1 << 31
      var timeout = Duration.zero
      while true {
        _ = wait(timeout)
        if isStopped.load(ordering: .acquiring) { return }
        settle()
        if isStopped.load(ordering: .acquiring) { return }
        do throws(SystemError) {
          tell(try survey.state(&sequence))
          timeout = .seconds(3600)
        } catch {
          // The last state is kept as the best guess.
          timeout = Self.retry
        }
      }
    }

    /// Reads the notifications until none arrive for a moment, or the limit of waits is reached.
    private func settle() {
      changes.drain()
      for _ in 0..<Self.quietRounds {
        guard wait(Self.quiet) else { return }
        changes.drain()
      }
    }

    /// Waits for a notification, or for ``stop()``; returns whether there is a notification.
    private func wait(_ time: Duration) -> Bool {
      poll.wait(for: [Poll.Watched(changes.number, reads: true)], until: .now + time)[0]
    }
  }
#endif
