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

/// What the index knows of one stored response of a key.
public struct VariantOutline: Sendable, Hashable {
  public let variant: UInt64
  /// The bytes of the body.
  public let length: UInt64
  /// Where its record stands: no two records ever have the same place.
  let segment: UInt32
  let offset: UInt32

  init(_ slot: Slot) {
    variant = slot.variant
    length = slot.length
    segment = slot.segment
    offset = slot.offset
  }

  /// Tells whether the outline is that of one record for ever, so that `Store.revisit` can tell
  /// whether it is still there.
  public var isLasting: Bool { segment != 0 }
}

/// What a look-up for reading piece by piece found.
public enum BodyLookup: Sendable {
  case hit(EntryInfo, BodyReader)
  case miss(MissReason)
}
