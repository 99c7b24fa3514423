import CLibrary
package import HTTPSemantics

package struct ProxyOptions: Sendable {
  package var listen = ListenAddress(host: "127.0.0.1", port: 8080)

  /// The server behind a reverse proxy, with the path that is put in front of all requests; `nil`
  /// for a forward proxy.
  package var origin: NormalizedURL?

  /// Further names under which clients reach the server, in any case and with any port.
  ///
  /// A server on loopback is reached as `localhost`, 127.0.0.0/8 or `[::1]`, each with its port, as
  /// the host of ``listen``, and under these names. A server beyond loopback has the same rule if
  /// there are names here; without any, all names are accepted.
  package var hosts: [String] = []

  /// Whether `Forwarded` and `X-Forwarded-*` of clients are trusted and passed on.
  package var trustsForwarded = false

  /// Whether answers come only from the store.
  package var isOffline = false

  /// The number of threads that serve clients, at least 1, each with its share of the connections;
  /// by default one for each processor, 2 to 32.
  package var threads = min(32, max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

  /// The longest time in which a client neither sends nor accepts a byte, in whole seconds. After
  /// that its connection ends.
  ///
  /// This is also the longest time until the server notices the end of a client that sent a part of
  /// a head and left at the same moment: libmicrohttpd 0.9 reads the data and is not notified of
  /// the end again.
  var idleSeconds = 75

  /// The certificate of a reverse proxy whose clients use TLS; `nil` for http. Certificates can be
  /// replaced while the server runs.
  package var certificate: ServerCertificate?

  /// The authority for intercepted connections of a forward proxy; `nil` if they are tunnelled.
  package var authority: LocalAuthority?

  /// The hosts whose connections are tunnelled, not intercepted.
  package var tunnelledHosts: [HostPattern] = []

  /// The ports that tunnels (`CONNECT`) of a forward proxy may lead to.
  package var connectPorts: Set<UInt16> = [443]

  /// Whether tunnels may lead to this machine and to private networks, even if other machines can
  /// connect to this proxy. If they cannot, tunnels may.
  package var allowsPrivate = false

  /// The most tunnels at the same time. Each keeps up to 128 KiB of bytes.
  var tunnelLimit = 512

  /// The longest time without a byte in a tunnel.
  package var tunnelIdle = Duration.seconds(600)
}

extension ProxyOptions {
  package init(listen: ListenAddress) { self.listen = listen }

  package var scheme: NormalizedURL.Scheme { certificate == nil ? .http : .https }
}
