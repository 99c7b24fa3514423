package import HTTPSemantics

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Says where a proxy listens and what it does.
package struct ProxyOptions: Sendable, Hashable {
  /// Gives the address to listen at.
  package var listen: ListenAddress

  /// Gives the server behind a reverse proxy, with the path that all requests are put below; nil
  /// makes a forward proxy.
  package var origin: NormalizedURL?

  /// Gives further names under which clients reach the server, in any case and with any port.
  ///
  /// A server on loopback is reached as `localhost`, 127.0.0.0/8 or `[::1]`, each with its port, as the
  /// host of ``listen``, and under these names. Beyond loopback that counts where there are names; without
  /// any, all are taken.
  package var hosts: [String]

  /// Takes what clients say in `Forwarded` and `X-Forwarded-*` for true, and passes it on.
  package var trustsForwarded: Bool

  /// Answers from the store alone.
  package var isOffline: Bool

  /// Gives the number of threads that serve clients; at least 1. Each has its own clients, so a few
  /// more than there are processors share the work more evenly.
  package var threads: Int

  /// Bounds the time in which a client neither sends nor takes a byte, in whole seconds; its
  /// connection ends then.
  ///
  /// It is also how long it may take until a client is missed that sent a part of a head and left in
  /// the same moment: libmicrohttpd 0.9 reads what was sent and is not told of the end again.
  package var idleSeconds: Int

  /// Makes options; the defaults suit a program on the same machine.
  package init(
    listen: ListenAddress = ListenAddress(host: "127.0.0.1", port: 8080),
    origin: NormalizedURL? = nil, hosts: [String] = [], trustsForwarded: Bool = false,
    isOffline: Bool = false, threads: Int = usualThreads, idleSeconds: Int = 75
  ) {
    self.listen = listen
    self.origin = origin
    self.hosts = hosts
    self.trustsForwarded = trustsForwarded
    self.isOffline = isOffline
    self.threads = threads
    self.idleSeconds = idleSeconds
  }

  /// Gives four threads for each processor, at least 4 and at most 64.
  package static var usualThreads: Int {
    min(64, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) * 4)
  }
}
