// Credentials of the user.
extension OfflineCache {
  /// Sends a credential with all requests to the folder of a URL and below it, without waiting for
  /// a challenge, until ``forgetCredentials()`` is called or a server refuses it: once, or eight times
  /// in a row if it has been accepted, because a server may also close single pages to a user.
  ///
  /// A program that knows its user when it starts calls this, so that the responses stored for that
  /// user are found while there is no network.
  ///
  /// - Throws: `unsupportedURL` and `badURL`, as ``data(for:)``.
  public func use(_ credential: Credential, for url: URL) throws(URLError) {
    let normal: NormalizedURL
    do throws(InvalidURL) {
      normal = try NormalizedURL(url.absoluteString)
    } catch {
      throw URLError(error, url: url)
    }
    client.use(credential, for: normal)
  }

  /// Forgets all credentials, as for a log-out: those in memory at once, before the call suspends,
  /// then all that ``OfflineCacheOptions/credentialVault`` contains. Responses stored with them stay,
  /// but are not returned without them. Cookies stay (`NetworkSetup.keepsCookies`). When the user logs
  /// out, call ``logOut(downloadsIn:)``.
  ///
  /// - Throws: `CredentialVaultError` if the vault cannot be emptied. Its credentials would be used
  ///   again; those in memory are forgotten all the same.
  public func forgetCredentials() async throws(CredentialVaultError) {
    try await client.forgetCredentials()
  }
}
