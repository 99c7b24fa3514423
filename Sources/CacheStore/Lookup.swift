public import CacheFormat

/// The result of a look-up.
public enum Lookup: Sendable {
  /// The entry, verified.
  case hit(Entry)
  /// There is nothing to return, for this reason.
  case miss(MissReason)

  /// The entry, or `nil` for a miss.
  public var entry: Entry? {
    if case .hit(let entry) = self { entry } else { nil }
  }
}

/// An entry with its whole body.
public struct Entry: Sendable, CustomStringConvertible {
  /// Key, variant, times and metadata.
  public let info: EntryInfo
  /// The body as it was stored. Its length and digest have been checked.
  public let body: [UInt8]
  /// The place that the body was read from.
  public let source: EntrySource

  /// The key, the length, and the place that the body was read from.
  public var description: String { "\(info), \(source)" }
}

/// The facts about one variant of a key that the index has.
public struct VariantOutline: Sendable, Hashable {
  /// The number of the variant.
  public let variant: UInt64
  /// The bytes of the body.
  public let length: UInt64
  /// The place of its record in the journal. No two records ever have the same place.
  let segment: UInt32
  let offset: UInt32

  init(_ slot: Slot) {
    variant = slot.variant
    length = slot.length
    segment = slot.segment
    offset = slot.offset
  }

  /// Whether the outline always stands for the same record, so that `Store.revisit` can find out
  /// whether that record is still current. False if the entry has no record in the journal.
  public var isLasting: Bool { segment != 0 }
}

/// The result of a look-up for reading piece by piece.
public enum BodyLookup: Sendable {
  /// The facts about the entry, and the reader of its body.
  case hit(EntryInfo, BodyReader)
  /// There is nothing to return, for this reason.
  case miss(MissReason)
}
