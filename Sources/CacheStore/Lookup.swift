public import CacheFormat

/// What a look-up found.
public enum Lookup: Sendable {
  case hit(Entry)
  case miss(MissReason)

  /// The entry, or nil for a miss.
  public var entry: Entry? {
    if case .hit(let entry) = self { entry } else { nil }
  }
}

/// A stored response, whole.
public struct Entry: Sendable {
  public let info: EntryInfo
  /// The body, as it was stored: its length and digest have been checked.
  public let body: [UInt8]
  public let source: EntrySource
}

/// What a look-up for reading piece by piece found.
public enum BodyLookup: Sendable {
  case hit(EntryInfo, BodyReader)
  case miss(MissReason)
}
