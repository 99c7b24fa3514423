package import CacheFormat

/// One entry in the index: 88 bytes, no references.
package struct Slot: Sendable, BitwiseCopyable {
  /// "No slot" in links.
  static let none = UInt32.max

  package var keyHash = KeyHash(high: 0, low: 0)
  package var digest = Digest(high: 0, low: 0)
  package var variant: UInt64 = 0
  /// The bytes of the body.
  package var length: UInt64 = 0
  /// The last access, in nanoseconds since 1970.
  package var accessed: Int64 = 0
  /// Where the record stands; segment 0 means that it is not in the journal and the tree is asked.
  package var segment: UInt32 = 0
  package var offset: UInt32 = 0
  package var recordLength: UInt32 = 0
  /// When it was stored, in whole seconds since 1970.
  package var createdSeconds: UInt32 = 0
  /// Entries with equal digests and equal numbers share one file.
  package var bodyFile: UInt32 = 0
  /// The ring of the slots with the same file; in a free slot `next` is the next free one. The next of
  /// one that is alone is itself.
  var previous = Slot.none
  var next = Slot.none
  private var overheadAndFlags: UInt32 = 0

  package init() {}

  /// The bytes allocated for the metadata file and the directory, in units of 512.
  package var overhead: UInt64 {
    get { UInt64(overheadAndFlags >> 8) * 512 }
    set {
      let units = UInt32(min((newValue + 511) / 512, 0xFF_FFFF))
      overheadAndFlags = units << 8 | overheadAndFlags & 0xFF
    }
  }

  private func flag(_ bit: UInt32) -> Bool { overheadAndFlags & bit != 0 }
  private mutating func set(_ bit: UInt32, _ value: Bool) {
    overheadAndFlags = value ? overheadAndFlags | bit : overheadAndFlags & ~bit
  }

  /// Whether an entry is here; otherwise the slot is free.
  var isLive: Bool {
    get { flag(1) }
    set { set(1, newValue) }
  }
  package var isPinned: Bool {
    get { flag(2) }
    set { set(2, newValue) }
  }
  /// Whether the heap holds an item for this slot number; it then holds just one.
  var isInHeap: Bool {
    get { flag(4) }
    set { set(4, newValue) }
  }
  /// Whether the access time is newer than what the journal says.
  var isTouched: Bool {
    get { flag(8) }
    set { set(8, newValue) }
  }
  /// Whether the memory tier holds it.
  var isInMemory: Bool {
    get { flag(16) }
    set { set(16, newValue) }
  }

  /// Whether the bodies of both are one file.
  package func isSameFile(as other: Slot) -> Bool {
    digest == other.digest && bodyFile == other.bodyFile && length == other.length
  }

  /// A hash of digest and file.
  var fileHash: UInt64 { digest.low ^ UInt64(bodyFile) &* 0x9E37_79B9_7F4A_7C15 }

  /// The place of the record as one number.
  var recordPlace: UInt64 { UInt64(segment) << 32 | UInt64(offset) }

  /// Whether both are the same stored response, byte for byte of the record.
  package func isSameRecord(as other: Slot) -> Bool {
    segment == other.segment && offset == other.offset
  }
}
