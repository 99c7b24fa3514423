package import CacheFormat

/// A response as machines share it.
package struct SharedResponse: Sendable, Hashable {
  /// The longest body that the document itself contains, in bytes. A look-up of such a response is
  /// one request in place of two.
  package static let inlineBytes = 4096

  /// The request fields that select the response, as `name:value`, or `name` if the request did not
  /// have the field. A list equals another one with the same lines in the same order.
  package var selecting: [ByteString]
  /// The status, 100 to 999.
  package var status: Int
  /// The fields.
  package var fields: [Field]
  /// The tags.
  package var tags: [ByteString]
  /// The SHA-256 of the body: 32 bytes.
  package var bodyDigest: [UInt8]
  /// The number of bytes of the body.
  package var length: UInt64
  /// The time at which the response was requested, by the clock of the machine that did so.
  package var requested: Timestamp
  /// The time at which the head was received, by the same clock.
  package var received: Timestamp
  /// The body, if it is in the document.
  package var inlineBody: [UInt8]?

  /// Creates a response.
  package init(
    selecting: [ByteString] = [], status: Int, fields: [Field], tags: [ByteString] = [],
    bodyDigest: [UInt8], length: UInt64, requested: Timestamp, received: Timestamp,
    inlineBody: [UInt8]? = nil
  ) {
    self.selecting = selecting
    self.status = status
    self.fields = fields
    self.tags = tags
    self.bodyDigest = bodyDigest
    self.length = length
    self.requested = requested
    self.received = received
    self.inlineBody = inlineBody
  }
}
