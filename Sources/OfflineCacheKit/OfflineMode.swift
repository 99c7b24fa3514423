/// Says when stored responses answer in place of the network.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable {
  /// As the rules of HTTP and the policy of each request say. They do let a stale response answer
  /// when no connection can be made, unless it says `no-cache` or `must-revalidate`.
  case never

  /// The same, and any stored response answers, however old and whatever it says, when there is no
  /// network (``OfflineCacheOptions/reachability``), at once, and when the connection fails: no such
  /// host, no connection, no answer in time, or one that breaks off.
  ///
  /// So one that says `no-cache` or `must-revalidate` answers without a validation where none can be
  /// had, which RFC 9111, section 5.2.2.2 leaves to nobody but the user; ``never`` keeps to it. Not for
  /// requests whose policy reloads or validates: they want the origin by name, and fail.
  case whenUnreachable

  /// The store alone answers, however old a response is; the network is never asked.
  case always
}
