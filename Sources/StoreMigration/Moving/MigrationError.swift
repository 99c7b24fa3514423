public import CacheStore

/// The reason why a migration failed or ended early. The entries that were moved until then are
/// complete.
public enum MigrationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source cannot be read.
  case source(SourceError)
  /// The destination cannot be written.
  case destination(StoreError)
  /// Source and destination are the same.
  case same(String)
  /// The destination, named first, lies in the source.
  case destinationInSource(String, String)
  /// The source, named first, lies in the destination.
  case sourceInDestination(String, String)
  /// The report, named first, is the source or lies in it.
  case reportInSource(String, String)
  /// The report, named first, lies in the destination.
  case reportInDestination(String, String)
  /// The migration was asked to stop.
  case cancelled

  init(_ error: SourceError) {
    self = error.cause == .cancelled ? .cancelled : .source(error)
  }

  /// The path, the problem and the advice.
  public var description: String {
    switch self {
    case .source(let error): "\(error)"
    case .destination(let error): "\(error)"
    case .same(let path):
      "\(path): source and destination are the same; name a new folder for the store"
    case .destinationInSource(let path, let source):
      "\(path): the destination lies in the source \(source), which is never altered; "
        + "name a folder elsewhere"
    case .sourceInDestination(let path, let store):
      "\(path): the source lies in the destination \(store); move it out of there"
    case .reportInSource(let path, let source):
      "\(path): the report is a part of the source \(source), which is never altered; "
        + "name another file"
    case .reportInDestination(let path, let store):
      "\(path): the report lies in the destination \(store), of which it is no part; "
        + "name another file"
    case .cancelled: "cancelled"
    }
  }
}
