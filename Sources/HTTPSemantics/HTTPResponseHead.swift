/// Holds what comes before the body of a response: the status and the fields.
public struct HTTPResponseHead: Sendable, Hashable {
  /// Gives the status code, 100 to 999.
  public var status: Int

  /// Gives the fields in the order of the wire.
  public var fields: HTTPFields

  /// Makes a head.
  public init(status: Int, fields: HTTPFields = []) {
    self.status = status
    self.fields = fields
  }
}
