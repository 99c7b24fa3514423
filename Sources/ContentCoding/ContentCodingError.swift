/// Tells why coded content cannot be decoded.
public enum ContentCodingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The data is not what the coding says: a wrong start, a wrong checksum, an impossible code.
  case damaged(coding: String)

  /// The data ends before the coding's own end.
  case truncated(coding: String)

  /// zlib has no memory.
  case outOfMemory

  /// Says what is wrong and what to do.
  public var description: String {
    switch self {
    case .damaged(let coding): "the \(coding) data is damaged; fetch it again, or take it coded"
    case .truncated(let coding): "the \(coding) data is cut short; fetch it again"
    case .outOfMemory: "there is no memory to decode with; close something and try again"
    }
  }
}
