/// The reason why coded content cannot be decoded.
public enum ContentCodingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The data is invalid for the coding: a wrong header, a wrong checksum, an impossible code,
  /// or too much data without content.
  case damaged(coding: String)

  /// The data ends before the end of the coding.
  case truncated(coding: String)

  /// zlib cannot allocate memory.
  case outOfMemory

  /// The problem, without a remedy: errors that have this one as their cause give one.
  public var description: String {
    switch self {
    case .damaged(let coding): "the \(coding) data is damaged"
    case .truncated(let coding): "the \(coding) data is cut short"
    case .outOfMemory: "there is no memory to decode with"
    }
  }
}
