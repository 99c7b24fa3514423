import CacheFormat
import Testing

@testable import CacheStore

@Suite struct RemovalsTests {
  private var removals = Removals()

  private static let hash = KeyHash(high: 1, low: 2)
  private static let digest = Digest(high: 3, low: 4)
  private static let otherDigest = Digest(high: 3, low: 5)

  private static func head(_ variant: UInt64 = 0) -> PutHead {
    PutHead(
      keyHash: hash, digest: digest, variant: variant, length: 1,
      created: Timestamp(nanoseconds: 1), accessed: Timestamp(nanoseconds: 1), expires: nil,
      bodyFile: 1, overhead: 0, status: nil, isPinned: false)
  }

  private func cover(_ sequence: UInt64?, _ digest: Digest = digest, variant: UInt64 = 0) -> Bool {
    removals.cover(Self.hash, variant, digest, writtenAt: sequence)
  }

  @Test func `nothing is covered as long as nothing was removed`() {
    #expect(!cover(1))
    #expect(!cover(nil))
  }

  @Test mutating func `a file is covered up to the number of the removal`() {
    removals.remove(Self.hash, 0, Self.digest, at: 7)
    #expect(cover(6))
    #expect(cover(7))
    // It was stored again, and that record is lost.
    #expect(!cover(8))
    #expect(!cover(nil))
    #expect(!cover(6, variant: 1))
  }

  @Test mutating func `an entry that was stored again is not covered`() {
    removals.remove(Self.hash, 0, Self.digest, at: 7)
    removals.remove(Self.hash, 1, Self.digest, at: 8)
    removals.put(Self.head(), replacing: nil)
    #expect(!cover(6))
    #expect(cover(6, variant: 1))
  }

  @Test mutating func `the removal of all covers what was written before`() {
    removals.remove(Self.hash, 0, Self.digest, at: 5)
    removals.giveUp(Self.hash, 1, Self.digest, at: 6)
    removals.clear(at: 9)
    #expect(cover(9))
    #expect(cover(9, variant: 1))
    #expect(!cover(10))
    removals.put(Self.head(), replacing: nil)
    #expect(cover(9), "a file of before the removal of all came back")
  }

  @Test mutating func `a body that was given up may come back, another one not`() {
    removals.giveUp(Self.hash, 0, Self.digest, at: 7)
    #expect(removals.haveGivenUp(Self.hash, 0, Self.digest))
    #expect(!cover(6))
    #expect(!removals.haveGivenUp(Self.hash, 0, Self.otherDigest))
    #expect(cover(6, Self.otherDigest))
    #expect(!removals.haveGivenUp(Self.hash, 1, Self.digest))
  }

  @Test mutating func `any body may come back if it is not known which was given up`() {
    removals.giveUp(Self.hash, 0, nil, at: 7)
    #expect(removals.haveGivenUp(Self.hash, 0, Self.digest))
    #expect(!cover(6, Self.otherDigest))
  }

  @Test(arguments: [Digest?.none, digest])
  mutating func `a later record counts in place of one that gave the entry up`(given: Digest?) {
    removals.giveUp(Self.hash, 0, given, at: 7)
    removals.giveUp(Self.hash, 1, given, at: 7)
    removals.remove(Self.hash, 0, Self.digest, at: 8)
    removals.put(Self.head(1), replacing: nil)
    #expect(cover(6))
    #expect(!removals.haveGivenUp(Self.hash, 0, Self.digest))
    #expect(!removals.haveGivenUp(Self.hash, 1, Self.digest))
  }

  @Test mutating func `a body counts as removed until an entry of the key has it again`() {
    removals.remove(Self.hash, 0, Self.otherDigest, at: 7)
    removals.put(Self.head(), replacing: nil)
    #expect(removals.haveRemoved(Self.otherDigest, of: Self.hash))
    #expect(!removals.haveRemoved(Self.otherDigest, of: KeyHash(high: 9, low: 9)))
    #expect(!removals.haveRemoved(Self.digest, of: Self.hash))
    removals.put(Self.head(), replacing: Self.digest)
    #expect(!removals.haveRemoved(Self.digest, of: Self.hash), "it was replaced by itself")
    removals.remove(Self.hash, 0, nil, at: 8)
    #expect(!removals.haveRemoved(Self.digest, of: Self.hash))
    removals.giveUp(Self.hash, 0, Self.otherDigest, at: 9)
    #expect(!removals.haveRemoved(Self.otherDigest, of: Self.hash), "it may be found again")
    removals.remove(Self.hash, 0, Self.digest, at: 10)
    removals.clear(at: 11)
    #expect(!removals.haveRemoved(Self.digest, of: Self.hash))
  }
}
