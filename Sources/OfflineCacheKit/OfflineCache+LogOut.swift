import CacheSystem

/// What is left of a user after ``OfflineCache/logOut(downloadsIn:)``. All the rest is removed.
public struct LogOutError: Error, Sendable, CustomStringConvertible {
  /// The reason why credentials are left in the vault, which would be used again; `nil` if none are.
  public internal(set) var vault: CredentialVaultError?

  /// The reason why stored responses are left; `nil` if none are.
  public internal(set) var store: StoreError?

  /// The reasons why downloads are left, at most one for each folder.
  public internal(set) var downloads: [URLError] = []

  /// The problems and the advice.
  public var description: String {
    ([vault?.description, store?.description].compactMap(\.self)
      + downloads.map(\.localizedDescription))
      .joined(separator: "; ")
  }
}

extension OfflineCache {
  /// Removes all that belongs to a user, who logs out, in this order:
  ///
  /// 1. Credentials: those in memory at once, before the call suspends, then those in the vault.
  /// 2. Running calls, which end with `URLError.cancelled`, also those of others that use the
  ///    transport; then the cookies.
  /// 3. Downloads in progress, also paused ones, which are cancelled for all their callers.
  /// 4. Everything in the store, and the responses in memory.
  /// 5. The downloads in these folders: the files that nobody has changed since, and the bytes of
  ///    interrupted ones. A folder that does not exist has none.
  ///
  /// Wait for it before the next user logs in.
  ///
  /// - Throws: ``LogOutError``, once all that can be removed is removed.
  public func logOut(downloadsIn folders: [URL] = []) async throws(LogOutError) {
    var failure = LogOutError()
    do throws(CredentialVaultError) { try await client.forgetUser() } catch {
      failure.vault = error
    }
    await downloader.endAll()
    await client.endStoring()
    do throws(StoreError) {
      // Not on the caller's thread, which may be the main thread.
      try await WorkerPool(threads: 1).call { [client] () throws(StoreError) in
        try client.removeAll()
      }
    } catch {
      failure.store = error
    }
    for folder in folders {
      do throws(URLError) {
        try await inFolder(folder) { path throws(DownloadError) in
          try await downloader.removeAll(in: path)
        }
      } catch {
        failure.downloads.append(error)
      }
    }
    if failure.vault != nil || failure.store != nil || !failure.downloads.isEmpty { throw failure }
  }
}
