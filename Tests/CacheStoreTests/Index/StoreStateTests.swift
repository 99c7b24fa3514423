import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore

/// A state with one open segment that has been read up to 1,000, and entries of one key in it.
private final class Sample {
  var state: StoreState

  static let hash = KeyHash(high: 1, low: 2)

  init(_ options: Options = Options()) throws {
    let files = RealFileSystem()
    let entries = EntriesDirectory(try files.open(userPath: "/", [.read, .directory]))
    state = StoreState(blockBytes: 4_096, entries: entries, options)
    let header = SegmentHeader(
      version: 2, storeID: .init(high: 0, low: 0), hashSeed: 0, number: 1,
      created: Timestamp(nanoseconds: 1))
    state.journal.add(Segment(header, file: try files.open(userPath: "/dev/null", [.read])))
    state.journal.setRead(1_000)
  }

  static func head(variant: UInt64 = 0, isLogged: Bool = false, isSpare: Bool = false) -> PutHead {
    PutHead(
      keyHash: hash, digest: Digest(high: 3, low: 4), variant: variant, length: 16,
      created: Timestamp(nanoseconds: 1), accessed: Timestamp(nanoseconds: 5), expires: nil,
      bodyFile: 1, overhead: 512, status: nil, isPinned: false, carriesBody: isLogged,
      isSpare: isSpare)
  }

  /// Puts an entry with a record of 160 bytes; only the log has the body of a logged one.
  func put(
    variant: UInt64 = 0, at offset: UInt32 = 64, isLogged: Bool = false, isSpare: Bool = false
  ) {
    if isLogged { state.journal.addBody(16, isEmbedded: false) }
    state.put(
      Self.head(variant: variant, isLogged: isLogged, isSpare: isSpare), segment: 1,
      offset: offset, recordLength: 160)
  }

  func number(variant: UInt64 = 0) throws -> UInt32 {
    let number = state.index.find(Self.hash, variant)
    return try #require(number)
  }

  func slot(variant: UInt64 = 0) throws -> Slot { state.index[try number(variant: variant)] }

  func confirm(variant: UInt64 = 0) throws {
    state.journal.confirmed.insert(try slot(variant: variant).recordPlace)
  }

  func presence(variant: UInt64 = 0, hasAsked: Bool = false) -> String {
    switch state.presence(Self.hash, variant, hasAsked: hasAsked) {
    case .present: "present"
    case .absent: "absent"
    case .closed: "closed"
    case .uncertain(let isKnown): isKnown ? "doubtful" : "perhaps in the tree"
    }
  }

  /// The bytes of live records, and of bodies that only the log has.
  var bytes: [Int64] { [state.journal.bytes.live, state.journal.bodies.unsettled] }
  var totals: EntryTotals { state.index.totals }
  var isComplete: Bool { state.isComplete }
  var version: IndexVersion { state.version }
  func setCompleted(since version: IndexVersion) -> Bool { state.setCompleted(since: version) }
  func tick(_ now: Int64) -> Int64 { state.tick(now) }
  func touch(variant: UInt64 = 0, now: Int64) throws -> Bool {
    state.touch(try number(variant: variant), now: now)
  }
  func remove() -> Slot? { state.remove(Self.hash, 0) }
  func checkInvariants() -> Bool { state.checkInvariants() }
}

@Suite struct StoreStateTests {
  // MARK: Presence

  @Test func `a whole index is sure of what it has and of what it lacks`() throws {
    let sample = try Sample()
    sample.put()
    #expect(sample.presence() == "present")
    #expect(sample.presence(variant: 1) == "absent")
    sample.state.isClosed = true
    #expect(sample.presence() == "closed" && sample.presence(variant: 1) == "closed")
  }

  @Test func `a settled entry is doubtful until it was compared with the tree`() throws {
    let sample = try Sample()
    sample.put()
    sample.state.journal.noteDamage()
    #expect(!sample.isComplete)
    #expect(sample.presence() == "doubtful")
    #expect(sample.presence(hasAsked: true) == "doubtful")
    #expect(sample.presence(variant: 1) == "perhaps in the tree")
    try sample.confirm()
    #expect(sample.presence() == "present")
    #expect(sample.setCompleted(since: sample.version))
    #expect(sample.presence() == "present" && sample.presence(variant: 1) == "absent")
    #expect(sample.isComplete && !sample.state.isIndexWhole)
  }

  @Test func `an entry in the log stays doubtful before a lost record`() throws {
    let sample = try Sample()
    sample.put(isLogged: true)
    sample.state.journal.setNotWhole(before: 200)
    try sample.confirm()
    #expect(sample.presence(hasAsked: true) == "doubtful")
    #expect(sample.setCompleted(since: sample.version))
    #expect(sample.presence() == "doubtful", "the tree says nothing about it")
    sample.put(at: 200, isLogged: true)
    #expect(sample.presence() == "present")
  }

  @Test func `while the end cannot be read, the tree counts at the moment it was asked`() throws {
    let sample = try Sample()
    sample.put()
    sample.state.journal.remainder = .unread(.inputOutput)
    try sample.confirm()
    #expect(sample.presence() == "doubtful")
    #expect(sample.presence(hasAsked: true) == "present")
    #expect(sample.presence(variant: 1) == "perhaps in the tree")
  }

  @Test func `an index that changed meanwhile is not complete`() throws {
    let sample = try Sample()
    sample.state.journal.noteDamage()
    let before = sample.version
    sample.state.journal.noteDamage()
    #expect(!sample.setCompleted(since: before) && !sample.isComplete)
    let later = sample.version
    sample.state.clear()
    #expect(!sample.setCompleted(since: later) && !sample.isComplete)
    #expect(sample.setCompleted(since: sample.version) && sample.isComplete)
  }

  @Test func `a store that writes nothing leaves out what is doubtful`() throws {
    let sample = try Sample()
    sample.put()
    sample.put(variant: 1, at: 224)
    sample.put(variant: 2, at: 384, isLogged: true)
    sample.state.journal.setPartial()
    try sample.confirm(variant: 1)
    sample.state.completeWithoutWriting(since: IndexVersion(clearings: 9, damages: 0))
    #expect(!sample.isComplete)
    sample.state.completeWithoutWriting(since: sample.version)
    #expect(sample.isComplete && sample.presence() == "absent")
    #expect(sample.presence(variant: 1) == "present")
    #expect(sample.presence(variant: 2) == "present")
    #expect(sample.checkInvariants())
  }

  // MARK: Changes

  @Test func `access times rise, also if the clock goes back`() throws {
    let sample = try Sample()
    #expect(sample.tick(100) == 100)
    #expect(sample.tick(50) == 101)
    #expect(sample.tick(101) == 102)
    sample.state.lastTick = .max
    #expect(sample.tick(0) == 0, "any time may be in a journal")
  }

  @Test func `the first access since the last record is announced`() throws {
    let sample = try Sample()
    sample.put()
    sample.put(variant: 1, at: 224)
    #expect(try sample.touch(now: 10))
    #expect(try !sample.touch(now: 11))
    #expect(try !sample.touch(variant: 1, now: 12))
    let numbers = try [0, 1].map { try sample.number(variant: $0) }
    let touched = sample.state.touched
    #expect(touched == numbers)
    #expect(try sample.slot().accessed == 11)
  }

  @Test func `a read-only store writes no access times`() throws {
    let sample = try Sample(Options(isReadOnly: true))
    sample.put()
    #expect(try !sample.touch(now: 10))
    let touched = sample.state.touched
    #expect(touched.isEmpty)
    #expect(try sample.slot().accessed == 10)
  }

  @Test func `the record of a replaced entry is not live any more`() throws {
    let sample = try Sample()
    sample.put(isLogged: true)
    #expect(sample.bytes == [144, 16])
    sample.put(at: 224)
    #expect(sample.bytes == [160, 0])
    #expect(sample.remove()?.offset == 224)
    #expect(sample.remove() == nil)
    #expect(sample.bytes == [0, 0] && sample.checkInvariants())
  }

  @Test func `an entry that becomes a spare one counts among these`() throws {
    let sample = try Sample()
    sample.put()
    sample.put(at: 224, isSpare: true)
    #expect(sample.totals.entries == 1 && sample.totals.spareEntries == 1)
    #expect(sample.bytes == [160, 0] && sample.checkInvariants())
    sample.put(at: 384)
    #expect(sample.totals.entries == 1 && sample.totals.spareEntries == 0)
    #expect(sample.checkInvariants())
  }

  @Test func `only the record that an entry has can be settled`() throws {
    let sample = try Sample()
    sample.put(at: 224, isLogged: true)
    func settled(variant: UInt64 = 0, segment: UInt32 = 1, _ offset: UInt32) -> SettledRecord {
      SettledRecord(
        keyHash: Sample.hash, variant: variant, segment: segment, offset: offset, bodyFile: 9,
        overhead: 1_024)
    }
    sample.state.settle(settled(64))
    sample.state.settle(settled(segment: 2, 224))
    sample.state.settle(settled(variant: 1, 224))
    #expect(try sample.slot().isUnsettled)
    sample.state.settle(settled(224))
    let slot = try sample.slot()
    #expect(!slot.isUnsettled && slot.carriesBody && slot.bodyFile == 9 && slot.overhead == 1_024)
    #expect(sample.bytes == [144, 0] && sample.checkInvariants())
  }

  @Test func `a body is kept in memory as long as its record is current`() throws {
    let sample = try Sample(Options(memoryBytes: 1 << 20))
    sample.put()
    let old = try sample.slot()
    let record = PutRecord(head: Sample.head(), key: "key", metadata: EntryMetadata())
    sample.state.remember(old, record, [UInt8](repeating: 7, count: 16))
    #expect(try sample.slot().isInMemory)
    sample.put(at: 224)
    #expect(try !sample.slot().isInMemory)
    sample.state.remember(old, record, [UInt8](repeating: 7, count: 16))
    #expect(try !sample.slot().isInMemory, "the record was replaced meanwhile")
    let new = try sample.slot()
    let numbers = [sample.state.number(of: old), sample.state.number(of: new)]
    #expect(numbers == [nil, try sample.number()])
  }

  @Test func `a closed store says why it was closed`() throws {
    let sample = try Sample()
    #expect(throws: Never.self) { try sample.state.checkOpen("/store") }
    sample.state.isClosed = true
    #expect(throws: StoreError.closed("/store")) { try sample.state.checkOpen("/store") }
    let refusal = StoreError(.invalidLimits, path: "/store", cause: "a", remedy: "b")
    sample.state.refusal = refusal
    #expect(throws: refusal) { try sample.state.checkOpen("/store") }
  }

  @Test func `a journal that is read again leaves nothing behind`() throws {
    let sample = try Sample()
    sample.put()
    sample.state.journal.noteDamage()
    _ = try sample.touch(now: 9)
    let version = sample.version
    sample.state.forgetJournal()
    let (touched, segments) = (sample.state.touched, sample.state.journal.segments)
    #expect(sample.totals == EntryTotals() && touched.isEmpty && segments.isEmpty)
    #expect(sample.isComplete && sample.version != version)
  }
}
