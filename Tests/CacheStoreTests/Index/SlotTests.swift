import CacheFormat
import Testing

@testable import CacheStore

@Suite struct SlotTests {
  private let flags: [(WritableKeyPath<Slot, Bool>, String)] = [
    (\.isLive, "isLive"), (\.isPinned, "isPinned"), (\.isInHeap, "isInHeap"),
    (\.isTouched, "isTouched"), (\.isInMemory, "isInMemory"), (\.carriesBody, "carriesBody"),
    (\.isUnsettled, "isUnsettled"), (\.isSpare, "isSpare"), (\.isEmbedded, "isEmbedded"),
  ]

  @Test func `a slot takes the documented number of bytes`() {
    #expect(MemoryLayout<Slot>.stride == 88)
  }

  @Test func `each flag has a bit of its own`() {
    for (flag, name) in flags {
      var slot = Slot()
      slot.overhead = 12_288
      slot[keyPath: flag] = true
      for (other, otherName) in flags {
        #expect(slot[keyPath: other] == (other == flag), "\(name) set, \(otherName) read")
      }
      #expect(slot.overhead == 12_288, "\(name)")
      slot.overhead = 1 << 40
      #expect(slot[keyPath: flag], "\(name)")
      slot[keyPath: flag] = false
      #expect(flags.allSatisfy { !slot[keyPath: $0.0] }, "\(name)")
    }
  }

  @Test(
    arguments: [
      (0, 0), (1, 512), (511, 512), (512, 512), (513, 1_024), (1 << 31, 1 << 31),
      (UInt64(UInt32.max), (1 << 32) - 512), (.max - 511, (1 << 32) - 512),
    ] as [(UInt64, UInt64)])
  func `an overhead is rounded up to units, and bounded`(bytes: UInt64, kept: UInt64) {
    var slot = Slot()
    slot.overhead = bytes
    #expect(slot.overhead == kept)
  }

  /// The record is 200 bytes long, and a carried body of 13 takes 16 of them.
  @Test(arguments: [
    (false, false, 200, 0, 200), (true, false, 184, 16, 184), (true, true, 184, 0, 200),
  ])
  func `an embedded body stays in its record, another leaves the journal`(
    carries: Bool, embeds: Bool, head: Int, logged: Int, kept: Int
  ) {
    var slot = Slot()
    (slot.recordLength, slot.length) = (200, 13)
    (slot.carriesBody, slot.isEmbedded) = (carries, embeds)
    #expect(slot.headLength == head)
    #expect(slot.loggedBytes == logged)
    #expect(slot.keptBytes == kept)
  }

  @Test func `a settled entry has a body file if the metadata file has no body`() {
    var slot = Slot()
    #expect(slot.hasBodyFile)
    slot.isUnsettled = true
    #expect(!slot.hasBodyFile)
    (slot.isUnsettled, slot.isEmbedded) = (false, true)
    #expect(!slot.hasBodyFile)
  }

  @Test func `entries share a file if digest, number and length are equal`() {
    var slot = Slot()
    (slot.digest, slot.bodyFile, slot.length) = (Digest(high: 1, low: 2), 3, 4)
    #expect(slot.isSameFile(as: slot))
    var other = slot
    other.digest = Digest(high: 0, low: 2)
    #expect(!slot.isSameFile(as: other))
    other = slot
    other.bodyFile = 4
    #expect(!slot.isSameFile(as: other))
    #expect(slot.fileHash != other.fileHash)
    other = slot
    other.length = 5
    #expect(!slot.isSameFile(as: other))
  }

  @Test func `without a record, entries are told apart by their bodies`() {
    var slot = Slot()
    slot.digest = Digest(high: 1, low: 2)
    var other = slot
    other.digest = Digest(high: 1, low: 3)
    #expect(slot.isSameRecord(as: slot))
    #expect(!slot.isSameRecord(as: other))
    (slot.segment, slot.offset) = (2, 64)
    (other.segment, other.offset) = (2, 64)
    #expect(slot.isSameRecord(as: other))
    other.offset = 72
    #expect(!slot.isSameRecord(as: other))
    (other.segment, other.offset) = (3, 64)
    #expect(!slot.isSameRecord(as: other))
  }

  @Test func `places of records are ordered by segment, then by offset`() {
    var slot = Slot()
    (slot.segment, slot.offset) = (1, .max)
    var next = Slot()
    (next.segment, next.offset) = (2, 0)
    #expect(slot.recordPlace < next.recordPlace)
    #expect(next.recordPlace == 2 << 32)
  }
}
