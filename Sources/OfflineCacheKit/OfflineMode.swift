/// The conditions under which stored responses are used in place of the network.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable {
  /// The rules of HTTP and the policy of each request decide. They allow a stale response when no
  /// connection can be made, unless it has `no-cache` or `must-revalidate`.
  case never

  /// As ``never``, but any stored response is used, however old it is and whatever its fields say,
  /// if there is no network: at once if that is known (``OfflineCacheOptions/reachability``), or
  /// when the connection fails (no such host, no connection, no response in time, or a broken
  /// connection) or the answer cannot be decoded. What the caller has begun to read is not replaced.
  ///
  /// So a response with `no-cache` or `must-revalidate` is used without validation if that is
  /// impossible. RFC 9111, section 5.2.2.2 leaves this decision to the user; ``never`` follows the
  /// rule strictly. Requests whose policy reloads or validates ask for the origin explicitly, and
  /// fail.
  case whenUnreachable

  /// Only the store is used, however old a response is. The network is never asked.
  case always
}
