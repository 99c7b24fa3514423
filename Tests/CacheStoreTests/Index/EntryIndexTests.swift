import CacheFormat
import TestSupport
import Testing

@testable import CacheStore

/// Random steps on an index and its model.
struct IndexRun: ~Copyable {
  var random: SplitMix64
  var index: EntryIndex
  var model = EntryModel(blockBytes: 4096)
  var clock: Int64 = 1_000
  /// How many distinct keys, bodies, and files of one body there are.
  var keyCount = 300
  var bodyCount = 60
  var fileCount = 3
  /// Whether some entries were accessed long before they are put.
  var hasPast = false
  private var offset: UInt32 = 64

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    index = EntryIndex(blockBytes: 4096)
  }

  mutating func step() {
    clock += 1 + Int64(random.below(3))
    switch random.below(20) {
    case 0..<9: put(hash(), variant: UInt64(random.below(3)))
    case 9..<14: remove()
    case 14..<18: touch()
    default: pin()
    }
  }

  /// Some keys share the lower half, which the table knows, some the upper half.
  private mutating func hash() -> KeyHash {
    let number = UInt64(random.below(keyCount))
    return KeyHash(high: number % 7, low: (number / 2) &* 0x9e37_79b9_7f4a_7c15)
  }

  private mutating func put(_ hash: KeyHash, variant: UInt64) {
    let body = UInt64(random.below(bodyCount))
    // Some have a past.
    let accessed = hasPast && random.below(5) == 0 ? clock - Int64(random.below(2_000)) : clock
    let head = PutHead(
      keyHash: hash, digest: Digest(high: body % 5, low: (body / 2) &* 0x1000_0000_0001),
      variant: variant, length: body * 1_000, created: Timestamp(nanoseconds: clock),
      accessed: Timestamp(nanoseconds: accessed), expires: nil,
      bodyFile: 1 + UInt64(random.below(fileCount)), overhead: UInt32(random.below(9_000)),
      status: nil, isPinned: random.below(12) == 0, isSpare: variant == 2)
    offset &+= 8
    let known = model.entries[EntryModel.Key(hash: hash, variant: variant)]
    let (slot, replaced) = index.put(head, segment: 1, offset: offset, recordLength: 8)
    #expect((replaced != nil) == (known != nil))
    #expect(replaced?.digest == known?.digest)
    #expect(index[slot].offset == offset)
    model.put(head)
  }

  private mutating func remove() {
    guard let key = model.anyKey(&random), let slot = index.find(key.hash, key.variant) else {
      return
    }
    index.remove(slot)
    model.remove(key)
    #expect(index.find(key.hash, key.variant) == nil)
  }

  private mutating func touch() {
    guard let key = model.anyKey(&random), let slot = index.find(key.hash, key.variant) else {
      return
    }
    // Some are older than what is known, and change nothing.
    let time = clock - Int64(random.below(40))
    index.touch(slot, at: time)
    model.touch(key, at: time)
  }

  /// Pins or unpins, as the journal does: by a new record of the same entry.
  private mutating func pin() {
    guard let key = model.anyKey(&random), var head = model.entries[key] else { return }
    head.isPinned.toggle()
    offset &+= 8
    index.put(head, segment: 1, offset: offset, recordLength: 8)
    model.put(head)
  }

  /// Compares one random entry, and the one that goes first.
  mutating func check(_ note: String) {
    let oldest = index.oldest()
    if oldest?.accessed != model.oldestTime {
      Issue.record(
        "the oldest is of \(oldest?.accessed ?? 0), not \(model.oldestTime ?? 0); \(note)")
    }
    let spare = index.oldestSpare()
    if spare?.accessed != model.oldestSpareTime {
      Issue.record("the oldest spare one is of \(spare?.accessed ?? 0); \(note)")
    }
    guard let key = model.anyKey(&random), let head = model.entries[key] else { return }
    guard let slot = index.find(key.hash, key.variant) else {
      Issue.record("\(key) is lost; \(note)")
      return
    }
    let found = index[slot]
    let isRight =
      found.digest == head.digest && found.length == head.length
      && found.accessed == head.accessed.nanoseconds && found.isPinned == head.isPinned
      && found.isSpare == head.isSpare && found.isLive
    if !isRight { Issue.record("\(key) has other values; \(note)") }
  }

  /// Compares everything.
  func checkAll(_ note: String) {
    #expect(index.totals == model.totals, "\(note)")
    let agrees = index.checkInvariants()
    #expect(agrees, "\(note)")
    for (key, head) in model.entries {
      if index.find(key.hash, key.variant) == nil { Issue.record("\(key) is lost; \(note)") }
      // Nothing is found when the newest of several files has lost its last entry.
      if let sharing = index.sharing(head.digest, length: head.length) {
        #expect(sharing.isLive && sharing.digest == head.digest, "\(note)")
      }
    }
    for hash in Set(model.entries.keys.map(\.hash)) {
      let found = index.variants(of: hash).map { index[$0].variant }
      #expect(found.count == Set(found).count)
      #expect(Set(found) == model.variants(of: hash), "\(note)")
    }
  }
}

@Suite struct EntryIndexTests {
  @Test(arguments: 0..<5)
  func `an index and its model agree through random steps`(seed: UInt64) {
    var run = IndexRun(seed: seed)
    run.hasPast = seed % 2 == 1
    for step in 0..<40_000 {
      run.step()
      if step % 8 == 0 { run.check("seed \(seed), step \(step)") }
      if step % 2_000 == 0 { run.checkAll("seed \(seed), step \(step)") }
    }
    run.checkAll("seed \(seed), end")
    // An entry with a past does not take a slot that the heap has a later item for.
    #expect(
      run.index.slotCount < (run.hasPast ? 2_000 : 1_000),
      "the slots of removed entries are used again")
  }

  @Test(arguments: 10..<13)
  func `entries leave in the order of their last access`(seed: UInt64) {
    var run = IndexRun(seed: seed)
    run.hasPast = seed % 2 == 1
    for _ in 0..<4_000 { run.step() }
    let expected = run.model.entries.values.filter { !$0.isPinned }
      .map(\.accessed.nanoseconds).sorted()
    var order: [Int64] = []
    while let oldest = run.index.oldest(), let slot = run.index.find(oldest.keyHash, oldest.variant)
    {
      order.append(oldest.accessed)
      run.index.remove(slot)
    }
    #expect(order == expected, "seed \(seed)")
    #expect(!order.isEmpty)
    #expect(run.index.totals.entries == run.index.totals.pinnedEntries)
  }

  @Test(arguments: 20..<24)
  func `an index that has lost all its entries counts nothing`(seed: UInt64) {
    var run = IndexRun(seed: seed)
    for _ in 0..<5_000 { run.step() }
    for key in run.model.entries.keys {
      if let slot = run.index.find(key.hash, key.variant) { run.index.remove(slot) }
    }
    #expect(run.index.totals == EntryTotals(), "seed \(seed)")
    #expect(run.index.oldest() == nil)
    for body in 0..<UInt64(60) {
      let digest = Digest(high: body % 5, low: (body / 2) &* 0x1000_0000_0001)
      #expect(run.index.sharing(digest, length: body * 1_000) == nil)
    }
  }

  @Test func `entries without a record are the same if their bodies are`() {
    var index = EntryIndex(blockBytes: 4096)
    func put(_ body: UInt64, segment: UInt32) -> Slot {
      let head = Self.head(1, body: body, file: 1)
      return index[index.put(head, segment: segment, offset: 0, recordLength: 8).slot]
    }
    let first = put(1, segment: 0)
    #expect(first.isSameRecord(as: put(1, segment: 0)))
    #expect(!first.isSameRecord(as: put(2, segment: 0)))
    #expect(put(1, segment: 3).isSameRecord(as: put(2, segment: 3)))
  }

  private static func head(
    _ key: UInt64, body: UInt64, file: UInt64, accessed: Int64 = 0, isPinned: Bool = false
  ) -> PutHead {
    PutHead(
      keyHash: KeyHash(high: key, low: key), digest: Digest(high: body, low: body), variant: 0,
      length: 100, created: Timestamp(nanoseconds: 0),
      accessed: Timestamp(nanoseconds: accessed), expires: nil, bodyFile: file, overhead: 0,
      status: nil, isPinned: isPinned)
  }

  @Test func `files of one body that come in turns are charged once each`() {
    // As when a copy was made, and a record of an older entry is written again after it.
    var index = EntryIndex(blockBytes: 4096)
    for (key, file) in [(1, 1), (2, 2), (3, 1), (4, 2), (5, 3)] as [(UInt64, UInt64)] {
      index.put(Self.head(key, body: 9, file: file), segment: 1, offset: 0, recordLength: 8)
    }
    #expect(index.totals.bodyBytes == 3 * 4096)
    #expect(index.totals.sharedBytes == 200)
    for key: UInt64 in [1, 2, 3, 4, 5] {
      if let slot = index.find(KeyHash(high: key, low: key), 0) { index.remove(slot) }
    }
    #expect(index.totals == EntryTotals())
  }

  @Test func `the newest file is the one to share with`() {
    // The older one may have all the links it can have.
    var index = EntryIndex(blockBytes: 4096)
    for (key, file) in [(1, 7), (2, 8), (3, 9)] as [(UInt64, UInt64)] {
      index.put(Self.head(key, body: 9, file: file), segment: 1, offset: 0, recordLength: 8)
      #expect(index.sharing(Digest(high: 9, low: 9), length: 100)?.bodyFile == UInt32(file))
    }
    #expect(index.sharing(Digest(high: 9, low: 9), length: 101) == nil)
    #expect(index.sharing(Digest(high: 8, low: 9), length: 100) == nil)
  }

  @Test func `a pinned entry is passed over until it is unpinned`() {
    var index = EntryIndex(blockBytes: 4096)
    for key: UInt64 in 1...3 {
      index.put(
        Self.head(key, body: key, file: key, accessed: Int64(key), isPinned: key == 1),
        segment: 1, offset: 0, recordLength: 8)
    }
    #expect(index.oldest()?.keyHash.high == 2)
    #expect(index.totals.pinnedEntries == 1)
    index.put(
      Self.head(1, body: 1, file: 1, accessed: 1), segment: 1, offset: 8, recordLength: 8)
    #expect(index.oldest()?.keyHash.high == 1)
    #expect(index.totals.pinnedEntries == 0)
    #expect(index.totals.pinnedBytes == 0)
  }

  @Test func `a slot takes 88 bytes`() {
    #expect(MemoryLayout<Slot>.stride == 88)
  }
}
