public import CacheFormat

/// What a look-up found.
public enum Lookup: Sendable {
  /// The entry, verified.
  case hit(Entry)
  /// There is nothing to return, for this reason.
  case miss(MissReason)

  /// The entry, or nil for a miss.
  public var entry: Entry? {
    if case .hit(let entry) = self { entry } else { nil }
  }
}

/// An entry with its whole body.
public struct Entry: Sendable {
  /// Key, variant, times and metadata.
  public let info: EntryInfo
  /// The body, as it was stored: its length and digest have been checked.
  public let body: [UInt8]
  /// Where the body was read from.
  public let source: EntrySource
}

/// What the index knows of one variant of a key.
public struct VariantOutline: Sendable, Hashable {
  /// The number of the variant.
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

/// What a look-up for reading in pieces found.
public enum BodyLookup: Sendable {
  /// What is known of the entry, and the reader of its body.
  case hit(EntryInfo, BodyReader)
  /// There is nothing to return, for this reason.
  case miss(MissReason)
}
