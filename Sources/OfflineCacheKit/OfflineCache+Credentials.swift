public import CacheClient
public import Foundation
import HTTPSemantics

// What proves to servers who the user is. In memory only.
extension OfflineCache {
  /// Sends a credential to the folder of a URL, and what is below it, without being asked for, until a
  /// server refuses it or ``forgetCredentials()``.
  ///
  /// A program that knows its user when it starts calls this, so that what is stored for that user is
  /// found while there is no network.
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

  /// Forgets all credentials, as at a log-out. What is stored with them stays, and nobody gets it
  /// without them.
  public func forgetCredentials() { client.forgetCredentials() }
}
