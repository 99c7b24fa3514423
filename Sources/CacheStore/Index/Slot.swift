package import CacheFormat

/// One entry in the index: 88 bytes, no references.
package struct Slot: Sendable, BitwiseCopyable {
  /// The value of a link to no slot.
  static let none = UInt32.max

  package var keyHash = KeyHash(high: 0, low: 0)
  package var digest = Digest(high: 0, low: 0)
  package var variant: UInt64 = 0
  /// The bytes of the body.
  package var length: UInt64 = 0
  /// The last access, in nanoseconds since 1970.
  package var accessed: Int64 = 0
  /// The segment with the record; 0 if only the tree has the entry. `offset` is the place in the
  /// segment.
  package var segment: UInt32 = 0
  package var offset: UInt32 = 0
  /// The bytes of the record, with the body if it carries one.
  package var recordLength: UInt32 = 0
  /// The time at which the entry was stored, in whole seconds since 1970.
  package var createdSeconds: UInt32 = 0
  /// The number of the body file. Entries with equal digests, lengths and numbers share one file.
  package var bodyFile: UInt32 = 0
  /// The links of the ring of slots with the same file. A slot that is alone links to itself. In a
  /// free slot, `next` is the next free slot.
  var previous = Slot.none
  var next = Slot.none
  private var overheadAndFlags: UInt32 = 0
  private static let flagBits: UInt32 = 9

  /// The bytes allocated for the metadata file and the directory, in units of 512.
  package var overhead: UInt64 {
    get { UInt64(overheadAndFlags >> Self.flagBits) * 512 }
    set {
      let units = UInt32(min((newValue + 511) / 512, UInt64(UInt32.max >> Self.flagBits)))
      let flags = overheadAndFlags & (1 << Self.flagBits - 1)
      overheadAndFlags = units << Self.flagBits | flags
    }
  }

  private func flag(_ bit: UInt32) -> Bool { overheadAndFlags & bit != 0 }
  private mutating func set(_ bit: UInt32, _ value: Bool) {
    overheadAndFlags = value ? overheadAndFlags | bit : overheadAndFlags & ~bit
  }

  /// Whether the slot has an entry; otherwise it is free.
  var isLive: Bool {
    get { flag(1) }
    set { set(1, newValue) }
  }
  package var isPinned: Bool {
    get { flag(2) }
    set { set(2, newValue) }
  }
  /// Whether the heap has an item for this slot number. It has at most one.
  var isInHeap: Bool {
    get { flag(4) }
    set { set(4, newValue) }
  }
  /// Whether the access time is newer than that in the journal.
  var isTouched: Bool {
    get { flag(8) }
    set { set(8, newValue) }
  }
  /// Whether the memory tier has the entry.
  var isInMemory: Bool {
    get { flag(16) }
    set { set(16, newValue) }
  }

  /// Whether the record carries the body.
  package var carriesBody: Bool {
    get { flag(32) }
    set { set(32, newValue) }
  }
  /// Whether only the record has the entry: its files have not been written yet.
  package var isUnsettled: Bool {
    get { flag(64) }
    set { set(64, newValue) }
  }
  /// Whether the entry has the tag `spare`. A free slot keeps it: the heap of its kind may have an
  /// item for it.
  var isSpare: Bool {
    get { flag(128) }
    set { set(128, newValue) }
  }

  /// Whether the metadata file has the body, or will have it once the entry is settled.
  package var isEmbedded: Bool {
    get { flag(256) }
    set { set(256, newValue) }
  }

  /// Whether there is a file for the body.
  package var hasBodyFile: Bool { !isUnsettled && !isEmbedded }

  /// The bytes of the record without the body.
  var headLength: Int {
    Int(recordLength) - (carriesBody ? RecordFrame.padded(Int(length)) : 0)
  }

  /// The bytes of the body in the record, with padding, if they leave the journal once the entry is
  /// settled. An embedded body stays in its record.
  var loggedBytes: Int {
    carriesBody && !isEmbedded ? RecordFrame.padded(Int(length)) : 0
  }

  /// The bytes of the record that stay in the journal as long as the entry.
  var keptBytes: Int { Int(recordLength) - loggedBytes }

  /// Returns whether both entries have the same body file.
  package func isSameFile(as other: Slot) -> Bool {
    digest == other.digest && bodyFile == other.bodyFile && length == other.length
  }

  /// A hash of digest and file.
  var fileHash: UInt64 { digest.low ^ UInt64(bodyFile) &* 0x9E37_79B9_7F4A_7C15 }

  /// The place of the record (segment and offset) as one number.
  var recordPlace: UInt64 { UInt64(segment) << 32 | UInt64(offset) }

  /// Returns whether both have the same record in the journal. Without one, they have the same body.
  package func isSameRecord(as other: Slot) -> Bool {
    segment == other.segment && offset == other.offset
      && (segment != 0 || digest == other.digest)
  }
}
