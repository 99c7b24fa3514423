import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

@Suite struct EvictorVolumeTests {
  let sandbox = StoreSandbox()
  private let status = VolumeStatus(
    blockBytes: 4096, totalBytes: 1 << 40, availableBytes: 1 << 30, availableFiles: 1 << 20)

  private func body(_ count: Int, _ number: Int) -> [UInt8] {
    TestBody.make(count, seed: UInt64(number))
  }

  /// Returns the room after a query.
  private func queried() -> VolumeRoom {
    var room = VolumeRoom()
    _ = room.take(0, unsettled: 0, of: status, after: room.reasons)
    return room
  }

  @Test func `the volume is queried first, and after many bytes`() {
    var room = VolumeRoom()
    #expect(room.take(1, unsettled: 0) == nil)
    #expect(room.take(1, unsettled: 2, of: status, after: room.reasons) == (1 << 30) - 3)
    #expect(room.take(VolumeRoom.recheckBytes, unsettled: 0) != nil)
    #expect(room.take(0, unsettled: 0) == nil)
  }

  @Test func `bytes beyond all bounds leave nothing free`() {
    var room = queried()
    #expect(room.take(.max, unsettled: 0) == 0)
    room = queried()
    #expect(room.take(10, unsettled: .max - (1 << 27)) == nil)
  }

  /// Otherwise a thread could take the wish for a query for a full volume, and evict an entry.
  @Test func `what is not known is no full volume`() {
    var room = queried()
    room.expire()
    #expect(room.take(1, unsettled: 0) == nil)
  }

  @Test func `a reason that comes during a query leads to another one`() {
    var room = queried()
    room.expire()
    let reasons = room.reasons
    room.expire()
    #expect(room.take(1, unsettled: 0, of: status, after: reasons) == (1 << 30) - 1)
    #expect(room.take(1, unsettled: 0) == nil)
  }

  @Test func `free space is left to others`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(
        limits: Limits(freeBytes: 1 << 30), clock: SteppingClock(step: 1_000), fileSystem: files))
    let (full, roomy): (UInt64, UInt64) = (1 << 30 - 20_000, 1 << 40)
    files.faults.availableBytes = roomy
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    #expect(store.statistics.entries == 10)
    files.faults.availableBytes = full
    store.evictor.volume.withLock { $0.expire() }
    // The volume never says that something was freed.
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put([1], for: "small") }
    #expect(store.statistics.evictions > 0)
    files.faults.availableBytes = roomy
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.body == [1])
  }

  @Test func `nothing is evicted for free bytes that others have taken`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: 1 << 30), fileSystem: files))
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 1 << 20
    // What is known of the volume is asked anew after some megabytes at the latest.
    let large = body(17 << 20, 1)
    #expect(throws: failure(.noSpace, sandbox.root)) {
      for number in 0..<3 { try store.put(large, for: ByteString("large\(number)")) }
    }
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put([1], for: "small") }
    let writer = try store.makeWriter(for: "pieces")
    #expect(throws: failure(.noSpace, sandbox.root)) { try writer.write([1]) }
    #expect(store.statistics.evictions == 0)
    for number in 0..<10 { #expect(store.contains(ByteString("k\(number)"))) }
  }

  @Test func `what others free on the volume meanwhile counts`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: 1 << 30), fileSystem: files))
    let queries = Mutex((count: 0, last: Int.max))
    files.faults.set { call in
      if call.kind == .volume {
        let isLast = queries.withLock { queries in
          queries.count += 1
          return queries.count == queries.last
        }
        files.faults.availableBytes = isLast ? 1 << 40 : 1 << 20
      }
      return nil
    }
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put([1], for: "k") }
    queries.withLock { $0 = (count: 0, last: $0.count) }
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.body == [1])
  }

  @Test func `a write is repeated if the volume has room again`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    let isFull = Mutex(true)
    files.faults.set { call in
      guard call.kind == .write else { return nil }
      return isFull.withLock { isFull in
        defer { isFull = false }
        return isFull ? SystemError(ENOSPC) : nil
      }
    }
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.body == [1])
  }

  @Test(arguments: [UInt64(0), 1 << 20])
  func `a body that is on the disk already does not count against the free bytes`(
    free: UInt64
  ) throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: free), fileSystem: files))
    for number in 0..<10 { try store.put(body(1_000_000, number), for: ByteString("k\(number)")) }
    let writer = try store.makeWriter(for: "long")
    try writer.write(body(8 << 20, 1))
    files.faults.availableBytes = 4 << 20
    try writer.commit()
    #expect(store.statistics.entries == 11 && store.statistics.evictions == 0)
  }

  @Test(arguments: [UInt64(0), 100_000])
  func `nothing is evicted for a body that the volume cannot hold`(free: UInt64) throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: free), fileSystem: files))
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 200_000
    files.faults.set { $0.kind == .write ? SystemError(ENOSPC) : nil }
    let error = #expect(throws: StoreError.self) { try store.put(body(17 << 20, 1), for: "k") }
    #expect(error?.code == .noSpace)
    #expect(throws: StoreError.self) { try store.checkBodyLength(17 << 20) }
    files.faults.set(nil)
    try store.checkBodyLength(100_000)
    #expect(store.statistics.entries == 10 && store.statistics.evictions == 0)
  }

  @Test func `a put that fails on a volume without reserve leaves what it was to replace`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(clock: SteppingClock(step: 1_000), fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 10_000
    files.faults.set { call in
      call.kind == .open && call.name.hasSuffix(".body") && call.options.contains(.create)
        ? .inputOutput : nil
    }
    store.evictor.volume.withLock { $0.expire() }
    let error = #expect(throws: StoreError.self) { try store.put(body(40_000, 20), for: "k0") }
    files.faults.set(nil)
    #expect(error?.code == .inputOutput)
    #expect(store.lookUp("k0").entry?.body == body(40_000, 0))
    #expect(store.statistics.evictions > 0)
  }

  @Test func `a body in pieces leaves what it was to replace`() throws {
    let files = FaultyFiles()
    let limits = Limits(freeBytes: 100_000)
    let store = try sandbox.open(
      Options(limits: limits, clock: SteppingClock(step: 1_000), fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 100_000
    store.evictor.volume.withLock { $0.expire() }
    let writer = try store.makeWriter(for: "k0")
    // The volume never says that something was freed.
    let error = #expect(throws: StoreError.self) { try writer.write(body(40_000, 20)) }
    #expect(error?.code == .noSpace)
    #expect(store.lookUp("k0").entry?.body == body(40_000, 0))
    #expect(store.statistics.evictions > 0)
  }

  @Test func `evictions for a body in pieces have the room of its failed write`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    let writer = try store.makeWriter(for: "k")
    let calls = Mutex<[SimulatedOperation.Kind]>([])
    files.faults.set { call in
      guard call.isChange else { return nil }
      return calls.withLock { calls in
        calls.append(call.kind)
        return calls.count == 1 ? SystemError(ENOSPC) : nil
      }
    }
    try writer.write(body(40_000, 20))
    files.faults.set(nil)
    #expect(calls.withLock { Array($0.prefix(2)) } == [.write, .truncate])
    try writer.commit()
    #expect(store.lookUp("k").entry?.body == body(40_000, 20))
    #expect(store.statistics.evictions > 0)
  }

  @Test func `on a full disk, a body in pieces does not cost the entry that it replaces`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    let writer = try store.makeWriter(for: "k0")
    files.faults.set { $0.kind == .write && $0.name.count == 16 ? SystemError(ENOSPC) : nil }
    #expect(throws: StoreError.self) { try writer.write(body(40_000, 20)) }
    files.faults.set(nil)
    #expect(store.statistics.evictions > 0 && store.lookUp("k0").entry?.body == body(40_000, 0))
  }

  @Test func `nothing is evicted for the reserve before the limits refuse a body`() throws {
    let files = FaultyFiles()
    let limits = Limits(bytes: 16 << 20, pinnedBytes: 6 << 20)
    let store = try sandbox.open(Options(limits: limits, fileSystem: files))
    try store.put(body(5 << 20, 0), for: "pinned")
    try store.pin("pinned")
    for number in 1..<7 { try store.put(body(1 << 20, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 6 << 20
    store.evictor.volume.withLock { $0.expire() }
    #expect(throws: failure(.noSpace, sandbox.root)) {
      try store.put(body(11 << 20, 7), for: "new")
    }
    #expect(store.statistics.entries == 7 && store.statistics.evictions == 0)
  }

  @Test func `pinned entries that share a body keep its bytes once`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<10 {
      let key = ByteString("pinned\(number)")
      try store.put(body(100_000, 0), for: key)
      try store.pin(key)
    }
    for number in 1..<9 { try store.put(body(100_000, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 10_000
    try store.checkBodyLength(500_000)
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.checkBodyLength(1_000_000) }
  }

  @Test func `entries in the log, which have no inodes, do not go for want of them`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(fileSystem: files), settling: .within(seconds: 3_600))
    files.faults.availableFiles = 100
    for number in 0..<100 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    files.faults.availableFiles = 0
    try store.put(body(100, 100), for: "new")
    #expect(store.statistics.evictions == 0 && store.statistics.unsettledEntries == 101)
    store.close()
  }

  /// As XFS does, which frees them in the background.
  @Test func `a volume that does not tell the freed inodes costs few entries`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    files.faults.availableFiles = 100
    for number in 0..<64 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    files.faults.availableFiles = 0
    try store.put(body(100, 64), for: "new")
    #expect((1...8).contains(store.statistics.evictions))
  }

  @Test func `at a quota, which the volume does not tell, entries go for a new one`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    let room = Atomic<Int>(0)
    files.faults.set { call in
      if call.kind == .removeFile { room.add(10, ordering: .relaxed) }
      guard call.takesRoom else { return nil }
      return room.subtract(1, ordering: .relaxed).newValue < 0 ? SystemError(EDQUOT) : nil
    }
    #expect(try store.remove("k0") == 1)
    room.store(0, ordering: .relaxed)
    #expect(try store.pin("k1"))
    room.store(0, ordering: .relaxed)
    try store.put(body(40_000, 20), for: "new")
    files.faults.set(nil)
    #expect(store.statistics.evictions > 0 && store.statistics.entries > 2)
    #expect(store.lookUp("k1").entry?.body == body(40_000, 1))
    #expect(store.lookUp("new").entry?.body == body(40_000, 20))
  }

  @Test func `a volume that cannot be asked is no crash`() async {
    await #expect(processExitsWith: .success) {
      let sandbox = StoreSandbox()
      let files = FaultyFiles()
      let store = try sandbox.open(Options(limits: Limits(freeBytes: 1), fileSystem: files))
      files.faults.set { $0.kind == .volume ? .inputOutput : nil }
      for number in 0..<3 {
        // Refused or not: it must not trap.
        do throws(StoreError) { try store.put([1, 2, 3], for: ByteString("k\(number)")) } catch {
          #expect(error.code == .noSpace || error.code == .inputOutput)
        }
      }
      files.faults.set(nil)
      try store.put([1], for: "k")
      #expect(store.lookUp("k").entry?.body == [1])
    }
  }
}
