import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore

@Suite struct JournalStateTests {
  /// A segment whose file is never read.
  private static func segment(
    _ number: UInt32, version: UInt32 = 2, unsynced: UInt32 = 0
  ) throws -> Segment {
    let files = RealFileSystem()
    let header = SegmentHeader(
      version: version, storeID: .init(high: 0, low: 0), hashSeed: 0, number: UInt64(number),
      unsynced: unsynced, created: Timestamp(nanoseconds: 1))
    return Segment(header, file: try files.open(userPath: "/dev/null", [.read]))
  }

  private static func state(_ numbers: UInt32...) throws -> JournalState {
    var state = JournalState(JournalTail())
    for number in numbers { state.add(try segment(number)) }
    return state
  }

  /// The slot of an entry with a record of 200 bytes, 16 of them a body that only the log has.
  private static func slot(_ segment: UInt32, _ offset: UInt32 = 64, logged: Bool = false) -> Slot {
    var slot = Slot()
    (slot.segment, slot.offset, slot.recordLength, slot.length) = (segment, offset, 200, 13)
    (slot.carriesBody, slot.isUnsettled) = (logged, logged)
    return slot
  }

  // MARK: Segments

  @Test func `a journal begins with its first segment`() throws {
    var state = try Self.state()
    #expect(state.current == nil && state.end == nil)
    #expect(state.nextNumber == 1)
    state.add(try Self.segment(7))
    #expect(state.firstNumber == 7 && state.endNumber == 8 && state.nextNumber == 8)
    #expect(state.segment(7) === state.current)
    #expect(state.segment(6) == nil && state.segment(8) == nil && state.segment(0) == nil)
    #expect(state.position == Int64(SegmentHeader.count))
    #expect(state.checkInvariants())
  }

  @Test func `a journal that was lost does not begin with 1 again`() throws {
    var state = try Self.state()
    state.setPartial()
    #expect(state.nextNumber == 2)
    state.add(try Self.segment(2))
    #expect(state.nextNumber == 3)
  }

  @Test func `numbers that were left out are missing, and the journal is not whole`() throws {
    var state = try Self.state(1)
    state.setRead(500)
    #expect(state.isWhole)
    state.add(try Self.segment(4))
    #expect(state.segments.count == 4)
    #expect(state.segment(2) == nil && state.segment(3) == nil && state.segment(4) != nil)
    guard case .completed = state.coverage else {
      Issue.record("missing numbers lose no entry")
      return
    }
    // What the log had before the gap is in doubt, what comes after it is not.
    #expect(state.hasLost(after: Self.slot(1, 400)))
    #expect(!state.hasLost(after: Self.slot(4)))
    #expect(state.checkInvariants())
  }

  @Test func `missing numbers do not make up for lost records`() throws {
    var state = try Self.state(1)
    state.setPartial()
    state.add(try Self.segment(3))
    guard case .partial = state.coverage else {
      Issue.record("the index counts as complete")
      return
    }
  }

  @Test func `every look-up tries a following segment that could not be opened`() throws {
    var state = try Self.state(1)
    #expect(state.sharedTail.mark == state.tail)
    #expect(state.tail.position == Int64(SegmentHeader.count))
    state.setRead(300)
    #expect(state.tail.position == 300 && state.sharedTail.mark == state.tail)
    state.segments[0]?.next = 2
    #expect(state.sharedTail.mark == JournalTail.Mark())
    #expect(state.tail.position == 300)
    state.add(try Self.segment(2))
    #expect(state.sharedTail.mark == state.tail)
  }

  @Test func `the oldest segments go up to one with a live record, but never the last`() throws {
    var state = try Self.state(1, 2, 3, 4)
    state.addLive(of: Self.slot(3), 1)
    state.release(through: 1)
    #expect(state.firstNumber == 2)
    state.release(through: 9)
    #expect(state.firstNumber == 3 && state.segments.count == 2)
    state.addLive(of: Self.slot(3), -1)
    state.release(through: 9)
    #expect(state.firstNumber == 4 && state.segments.count == 1)
    #expect(state.checkInvariants())
  }

  @Test func `bodies need format 2`() throws {
    #expect(try !Self.state().carriesBodies)
    #expect(try Self.state(1).carriesBodies)
    var old = try Self.state()
    old.add(try Self.segment(1, version: 1))
    #expect(!old.carriesBodies)
  }

  @Test func `a failed sync counts until its segment is dropped`() throws {
    var state = try Self.state(1, 2)
    #expect(!state.hasUnsynced)
    state.add(try Self.segment(3, unsynced: 2))
    #expect(state.hasUnsynced)
    #expect(!state.isShownUnsynced(1) && state.isShownUnsynced(2) && !state.isShownUnsynced(3))
    state.release(through: 2)
    #expect(!state.hasUnsynced && !state.isShownUnsynced(2))
  }

  // MARK: Sums

  @Test func `live and logged bytes are counted in the segment of the record`() throws {
    var state = try Self.state(1, 2)
    state.setRead(1_000)
    state.addBody(160, isEmbedded: false)
    state.addBody(500, isEmbedded: true)
    let (settled, logged) = (Self.slot(1), Self.slot(2, logged: true))
    state.addLive(of: settled, 1)
    state.addLive(of: logged, 1)
    state.addLive(of: Self.slot(9), 1)
    let header = Int64(SegmentHeader.count)
    #expect(state.bytes == (all: header + 1_000 - 160, live: 200 + 184))
    #expect(state.bodies == (all: 160, unsettled: 16))
    #expect(state.spareBytes == header + 840 - 384 + 160 - 16)
    #expect(!state.hasBodies(1) && state.hasBodies(2) && !state.hasBodies(9))
    state.addLive(of: settled, -1)
    state.addLive(of: logged, -1)
    #expect(state.bytes.live == 0 && state.bodies.unsettled == 0)
  }

  @Test func `an index that was emptied has no live bytes, and compaction is tried again`() throws {
    var state = try Self.state(1, 2)
    state.failsToCompact = 0..<5
    state.addLive(of: Self.slot(1), 1)
    state.addLive(of: Self.slot(2, logged: true), 1)
    state.clearLive()
    #expect(state.bytes.live == 0 && state.bodies.unsettled == 0 && !state.hasBodies(2))
    #expect(state.failsToCompact.isEmpty)
  }

  @Test func `torn bytes belong to a segment once another follows`() throws {
    var state = try Self.state(1)
    state.setRead(100)
    state.remainder = .read(torn: 24)
    state.goOn(with: try Self.segment(2))
    #expect(state.segments[0]?.readBytes == 124)
    #expect(state.tornBytes == 0 && state.position == Int64(SegmentHeader.count))
  }

  // MARK: Damage

  @Test func `what stands before a damaged part is in doubt, what follows is not`() throws {
    var state = try Self.state(1, 2)
    state.setRead(200)
    state.noteDamage()
    #expect(!state.isWhole && state.damages == 1)
    #expect(state.hasLost(after: Self.slot(1)) && state.hasLost(after: Self.slot(2, 199)))
    #expect(!state.hasLost(after: Self.slot(2, 200)))
    // Damage at an earlier place leaves the later one in doubt.
    state.setNotWhole(before: 100)
    #expect(state.hasLost(after: Self.slot(2, 199)))
  }

  @Test func `after a restart only what was not promised is missing in a gap`() throws {
    for hasRestarted in [false, true] {
      var state = try Self.state(1)
      state.hasRestarted = hasRestarted
      state.confirmed = [5]
      state.noteGap(before: 100)
      #expect(state.damages == 1 && !state.isWhole && state.confirmed.isEmpty)
      #expect(state.hasLost(after: Self.slot(1)) == !hasRestarted)
    }
  }

  @Test func `a part cut off after opening puts what stood before in doubt`() throws {
    for hasRestarted in [false, true] {
      var state = try Self.state(1)
      state.hasRestarted = hasRestarted
      state.setRead(100)
      state.setOpened()
      state.setRead(300)
      state.setCutOff()
      #expect(state.hasLost(after: Self.slot(1, 99)) == !hasRestarted)
      #expect(!state.hasLost(after: Self.slot(1, 100)) && !state.isWhole)
    }
  }

  @Test func `an end that cannot be read decides nothing, until it is given up`() throws {
    var state = try Self.state(1)
    state.giveUpUnread()
    #expect(!state.hasGivenUp && state.damages == 0)
    state.setRead(300)
    state.remainder = .unread(.inputOutput)
    #expect(state.unread == .inputOutput && !state.needsReload && state.isWhole)
    #expect(state.hasLost(after: Self.slot(1, 299)) && state.hasLost(after: Self.slot(2)))
    state.giveUpUnread()
    #expect(state.hasGivenUp && state.unread == nil && !state.isWhole && state.damages == 1)
    #expect(state.hasLost(after: Self.slot(1, 299)) && !state.hasLost(after: Self.slot(1, 300)))
  }

  @Test func `an outdated journal has to be read again, with or without an error`() throws {
    var state = try Self.state(1)
    state.remainder = .outdated()
    #expect(state.needsReload && state.unread == nil && state.tornBytes == 0)
    state.remainder = .outdated(.inputOutput)
    #expect(state.needsReload && state.unread == .inputOutput)
    state.sequence = 9
    state.forgetSegments()
    #expect(!state.needsReload && state.segments.isEmpty && state.sequence == 0)
  }

  @Test func `a file shows lost records by a number after the next one`() throws {
    var state = try Self.state(1)
    (state.sequence, state.openedSequence) = (10, 12)
    #expect(!state.isLost(13) && state.isLost(14))
    state.sequence = 20
    #expect(!state.isLost(21) && state.isLost(22))
  }

  @Test func `a journal goes on after a mark if records or damage follow it`() throws {
    var state = try Self.state(1)
    state.sequence = 5
    #expect(!state.goesOn(after: 5) && state.goesOn(after: 4) && !state.goesOn(after: 6))
    state.remainder = .read(torn: 8)
    #expect(state.goesOn(after: 5) && !state.goesOn(after: 6))
    state.remainder = .read()
    state.noteDamage()
    #expect(state.goesOn(after: 5))
    state.sequence = 6
    #expect(!state.goesOn(after: 6), "the damage stands before the mark")
  }

  @Test func `a segment that could not be cut is pending until somebody changes it`() {
    func status(_ length: UInt64, modified: Int64) -> FileStatus {
      FileStatus(
        length: length, allocated: 4_096, fileNumber: 1, linkCount: 1, modified: modified, owner: 0,
        mode: 0o600, kind: .file)
    }
    let cut = RefusedCut(number: 1, end: 64, of: status(100, modified: 7))
    #expect(cut.isPending(status(100, modified: 7)))
    #expect(!cut.isPending(status(101, modified: 7)))
    #expect(!cut.isPending(status(100, modified: 8)))
  }
}
