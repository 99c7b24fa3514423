import CCurl
import CCurlLibrary
import HTTPSemantics

/// The cookies of a transport: libcurl's cookie engine (RFC 6265), in memory, for all its
/// transfers. Called on the driver thread only.
@safe
final class CookieJar {
  // Safety: created by init, freed by deinit, after the handles that share it.
  private let share: UnsafeMutableRawPointer

  /// Creates an empty jar; returns `nil` if libcurl has no memory.
  init?() {
    guard let share = unsafe occurl_share_cookies() else { return nil }
    unsafe self.share = share
  }

  deinit {
    _ = unsafe curl_share_cleanup(share)
  }

  func removeAll() {
    // The cookies of the jar are reached through a handle that shares it.
    guard let handle = EasyHandle() else { return }
    // Safety: as below.
    _ = unsafe occurl_set_pointer(handle.raw, CURLOPT_SHARE, share)
    _ = handle.set(CURLOPT_COOKIELIST, "ALL")
  }

  /// Makes a transfer send the cookies for its URL, and store new ones. A request with its own
  /// `Cookie` does not use the jar, nor one whose `Host` is not that of the URL: libcurl would take the
  /// cookies of that host.
  func serve(_ handle: EasyHandle, _ request: HTTPRequest) -> Bool {
    guard !request.fields.contains("Cookie"), !request.namesAnotherHost else { return true }
    // Safety: both are valid; the driver releases its handles before the jar.
    return unsafe occurl_set_pointer(handle.raw, CURLOPT_SHARE, share) == CURLE_OK
      && handle.set(CURLOPT_COOKIEFILE, "")
  }
}
