import CCurl
import CCurlLibrary
import HTTPSemantics

/// Holds the cookies of a transport: libcurl's engine (RFC 6265), in memory, for all its transfers.
/// Called on the loop's thread only.
@safe
final class CookieJar {
  // Safety: made by init, freed by deinit, after the handles that share it.
  private let share: UnsafeMutableRawPointer

  /// Makes an empty one; nil if libcurl has no memory.
  init?() {
    guard let share = unsafe occurl_share_cookies() else { return nil }
    unsafe self.share = share
  }

  deinit {
    _ = unsafe curl_share_cleanup(share)
  }

  /// Has a transfer send what is kept for its URL, and keep what it gets; one with a `Cookie` of its
  /// own goes alone.
  func serve(_ handle: EasyHandle, _ request: HTTPRequest) -> Bool {
    guard !request.fields.contains("Cookie") else { return true }
    // Safety: both are valid; the driver lets go of its handles before the jar.
    return unsafe occurl_set_pointer(handle.raw, CURLOPT_SHARE, share) == CURLE_OK
      && handle.set(CURLOPT_COOKIEFILE, "")
  }

  /// Returns fields with which no cache takes an answer for one to other cookies.
  ///
  /// A cache above does not see the cookies that are added here, so it could not tell apart what
  /// `Vary: Cookie` tells apart. `Vary: *` keeps such an answer from being stored.
  static func concealed(_ fields: HTTPFields) -> HTTPFields {
    let isSelected = fields.all(named: "Vary").contains { field in
      field.text.lowercased().split(separator: ",").contains { name in
        name.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "cookie"
      }
    }
    guard isSelected else { return fields }
    var fields = fields
    fields.replace(with: HTTPField("Vary", "*"))
    return fields
  }
}
