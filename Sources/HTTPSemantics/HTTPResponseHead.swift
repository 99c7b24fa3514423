/// The part of a response before the body: the status and the fields.
public struct HTTPResponseHead: Sendable, Hashable {
  /// The status code, 100 to 999.
  public var status: Int

  /// The fields in the order in which they were sent.
  public var fields: HTTPFields

  /// Creates a head.
  public init(status: Int, fields: HTTPFields = []) {
    self.status = status
    self.fields = fields
  }
}
