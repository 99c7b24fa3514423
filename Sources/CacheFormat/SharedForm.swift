/// A response in the form in which machines share it, without its body.
package struct SharedForm: Sendable, Hashable {
  /// The request fields that select the response, as `name:value`, or `name` if the request did not
  /// have the field. A list equals another one with the same lines in the same order.
  package var selecting: [ByteString]
  /// The status, 100 to 999.
  package var status: Int
  package var fields: [Field]
  package var tags: [ByteString]
  /// The time at which the response was requested, by the clock of the machine that did so.
  package var requested: Timestamp
  /// The time at which the head was received, by the same clock.
  package var received: Timestamp

  package init(
    selecting: [ByteString] = [], status: Int, fields: [Field], tags: [ByteString] = [],
    requested: Timestamp, received: Timestamp
  ) {
    self.selecting = selecting
    self.status = status
    self.fields = fields
    self.tags = tags
    self.requested = requested
    self.received = received
  }
}
