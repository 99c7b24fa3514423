extension RemoteCache {
  /// Reads the purge list if that was not done within a time, in nanoseconds. If a server answers,
  /// tries again to empty the documents for which that has failed.
  package func followPurges(within age: Int64) async {
    guard (try? await purges.refresh(within: age)) != nil else { return }
    emptyAgain()
  }

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
}
