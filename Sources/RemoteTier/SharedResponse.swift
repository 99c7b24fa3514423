package import CacheFormat

/// A response as machines share it.
package struct SharedResponse: Sendable, Hashable {
  /// The longest body that the document itself contains, in bytes. A look-up of such a response is
  /// one request in place of two.
  package static let inlineBytes = 4096

  /// All but the body.
  package var form: SharedForm
  /// The SHA-256 of the body: 32 bytes.
  package var bodyDigest: [UInt8]
  /// The number of bytes of the body.
  package var length: UInt64
  package var inlineBody: [UInt8]?

  package init(
    _ form: SharedForm, bodyDigest: [UInt8], length: UInt64, inlineBody: [UInt8]? = nil
  ) {
    self.form = form
    self.bodyDigest = bodyDigest
    self.length = length
    self.inlineBody = inlineBody
  }
}
