extension RemoteCache {
  /// Makes all machines of the namespace forget responses: the documents on the servers are not
  /// used any more, and the machines remove what they have stored.
  ///
  /// - Throws: ``RemoteCacheError/Code/readOnly`` in the mode `read`;
  ///   ``RemoteCacheError/Code/purgeFailed`` if a server does not have the purge in the end.
  package func purge(_ scope: PurgeList.Scope) async throws(RemoteCacheError) {
    guard options.mode.writes else {
      throw RemoteCacheError(
        .readOnly, options.namespace, problem: "the remote tier is used in the mode 'read'",
        remedy: "choose the mode 'both'")
    }
    try await purges.purge(scope)
  }

  /// Reads the purge list now, unless that was done within a time in nanoseconds.
  ///
  /// - Throws: the reason why no server has given one.
  package func refreshPurges(within age: Int64 = 0) async throws(RemoteReason) {
    try await purges.refresh(within: age)
  }

  package var purgeList: PurgeList { purges.list }

  /// Adds a function that is called with each newer purge list.
  ///
  /// - Returns: the number with which ``removeListener(_:)`` removes it.
  package func onPurges(
    _ listener: @escaping @Sendable (_ list: PurgeList) async -> Void
  ) -> UInt64 {
    purges.add(listener)
  }

  /// Removes a function that ``onPurges(_:)`` has added.
  package func removeListener(_ number: UInt64) { purges.removeListener(number) }
}
