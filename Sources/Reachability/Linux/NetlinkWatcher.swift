#if os(Linux)
  import CReachability
  import CacheSystem
  import Synchronization

  /// Watches the network in a thread of its own, which sleeps until the kernel tells of a change.
  final class NetlinkWatcher: Sendable {
    /// How long the kernel must be quiet before the state is looked at, in milliseconds: a link that
    /// comes up is told in several steps.
    private static let quiet: Int32 = 20
    /// How many times that is waited for.
    private static let quietRounds = 10
    /// After how many milliseconds a look that has failed is tried again.
    private static let retry: Int32 = 1000

    private let changes: NetlinkSocket
    private let survey: NetworkSurvey
    private let wake: Descriptor
    private let isStopped = Atomic(false)

    /// Looks once.
    ///
    /// - Throws: ``ReachabilityError``.
    init(_ options: ReachabilityOptions) throws(ReachabilityError) {
      do throws(SystemError) {
        // Listens first: what changes after the first look is told.
        changes = try NetlinkSocket(listens: true)
        survey = NetworkSurvey(try NetlinkSocket(listens: false), options)
        let result = cr_open_wake()
        if result < 0 { throw SystemError(-result) }
        wake = Descriptor(result, of: RealFileSystem())
      } catch {
        throw ReachabilityError(.open, error)
      }
    }

    /// Gives the state of now.
    func look() throws(ReachabilityError) -> NetworkState {
      var sequence: UInt32 = 0
      do throws(SystemError) {
        return try survey.state(&sequence)
      } catch {
        throw ReachabilityError(.ask, error)
      }
    }

    /// Begins to watch; the closure gets the state after each change, perhaps the same one.
    func start(_ tell: @escaping @Sendable (NetworkState) -> Void) throws(ReachabilityError) {
      do throws(SystemError) {
        try startThread { [self] in watch(tell) }
      } catch {
        throw ReachabilityError(.thread, error)
      }
    }

    /// Ends the thread, soon; descriptors are closed when it has ended.
    func stop() {
      isStopped.store(true, ordering: .releasing)
      cr_wake(wake.raw)
    }

    private func watch(_ tell: @Sendable (NetworkState) -> Void) {
      // Answers to `look` are told apart from those to this thread.
      var sequence: UInt32 = 1 << 31
      var timeout: Int32 = 0
      while true {
        let ready = cr_wait(changes.number, wake.raw, timeout)
        if isStopped.load(ordering: .acquiring) { return }
        if ready < 0 { pause(nanoseconds: Int64(Self.retry) * 1_000_000) }
        settle()
        if isStopped.load(ordering: .acquiring) { return }
        do throws(SystemError) {
          tell(try survey.state(&sequence))
          timeout = -1
        } catch {
          // What was true a moment ago is the best guess.
          timeout = Self.retry
        }
      }
    }

    /// Reads away what was told, until nothing more comes for a moment, or for long enough.
    private func settle() {
      changes.drain()
      for _ in 0..<Self.quietRounds {
        guard cr_wait(changes.number, wake.raw, Self.quiet) == 1 else { return }
        changes.drain()
      }
    }
  }
#endif
