public struct ContentCodingError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String { "" }
}
public struct ContentDecoder: Sendable {
  public init?(codings: [String]) { return nil }
  public mutating func append(_ coded: [UInt8]) {}
  public mutating func next() throws(ContentCodingError) -> [UInt8]? { nil }
  public mutating func finish() throws(ContentCodingError) {}
}
