import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import TestSupport
import Testing

/// A volume that is full, because of the store or of others.
@Suite struct FullVolumeTests {
  private let volume = SimulatedVolume(capacityBytes: 4 << 20)

  private func open(_ settling: Settling, limits: Limits? = nil) throws -> Store {
    try Store(
      at: "/store",
      options: Options(
        limits: limits, settling: settling, clock: SteppingClock(step: 1_000),
        fileSystem: SimulatedProcess(on: volume)))
  }

  private func body(_ number: Int) -> [UInt8] { TestBody.make(6_000, seed: UInt64(number)) }
  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func fill(_ store: Store, _ count: Int) throws {
    for number in 0..<count { try store.put(body(number), for: key(number)) }
  }

  /// Writes a file of others until nothing more has room.
  private func fillUp() throws {
    let files = SimulatedProcess(on: volume)
    let root = try files.open(userPath: "/", [.read, .directory])
    let name = try #require(PathName(bytes: Array("others".utf8)))
    let file = try files.open(name, in: root, [.write, .create])
    var offset: Int64 = 0
    while (try? files.write(file, [UInt8](repeating: 1, count: 4_096), at: offset)) != nil {
      offset += 4_096
    }
  }

  @Test func `evicted entries in the log make room`() throws {
    let volume = SimulatedVolume(capacityBytes: 100 << 20)
    let files = SimulatedProcess(on: volume)
    let store = try Store(
      at: "/store",
      options: Options(
        limits: Limits(freeBytes: 1 << 20), settling: .within(seconds: 3_600),
        clock: SteppingClock(step: 1_000), fileSystem: files))
    try fill(store, 400)
    #expect(store.statistics.unsettledEntries == 400)
    let root = try files.open(userPath: "/", [.read, .directory])
    let name = try #require(PathName(bytes: Array("others".utf8)))
    let others = try files.open(name, in: root, [.write, .create])
    let free = try files.volume(of: root.raw).availableBytes
    try files.write(others, [UInt8](repeating: 1, count: Int(free) - 700_000))
    // A staged body makes a query of the volume due.
    let writer = try store.makeWriter(for: key(400))
    try writer.write(body(400))
    try writer.commit()
    #expect(store.lookUp(key(400)).entry?.body == body(400))
    store.close()
  }

  /// Opens a store of 100 entries on a volume that others have filled since it was closed.
  private func openWithoutRoom(_ settling: Settling) throws -> Store {
    let store = try open(settling)
    try fill(store, 100)
    try store.settle()
    store.close()
    try fillUp()
    return try open(settling)
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a store goes on when it has filled the volume`(settling: Settling) throws {
    let store = try open(settling)
    try fill(store, 1_500)
    let count = store.statistics.entries
    #expect(count > 150, "as many as there is room for")
    for number in (1_500 - count)..<1_500 {
      #expect(store.lookUp(key(number)).entry?.body == body(number))
    }
    try store.settle()
    store.close()
    let again = try open(settling)
    #expect(again.lookUp(key(1_499)).entry?.body == body(1_499))
    again.close()
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a program that others have left no room removes and stores`(settling: Settling) throws {
    let store = try openWithoutRoom(settling)
    #expect(try store.remove(key(50)) == 1)
    try fillUp()
    try store.setLimits(Limits(entries: 80))
    try fillUp()
    #expect(try store.trim(toBytes: 300_000) > 0)
    try fillUp()
    try store.put(body(200), for: key(200))
    #expect(store.lookUp(key(200)).entry?.body == body(200))
    try fillUp()
    try store.removeAll()
    #expect(store.statistics.entries == 0 && store.lookUp(key(200)).entry == nil)
    store.close()
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a program that others have left no room pins and changes metadata`(
    settling: Settling
  ) throws {
    let store = try openWithoutRoom(settling)
    // The least recently accessed entry would be evicted first.
    #expect(try store.pin(key(0)))
    let oldest = try #require((1..<100).first { store.info(for: key($0)) != nil })
    try fillUp()
    #expect(try store.update(key(oldest)) { $0.tags = ["changed"] })
    #expect(store.info(for: key(0))?.isPinned == true)
    #expect(store.info(for: key(oldest))?.tags == ["changed"])
    for number in [0, oldest] { #expect(store.lookUp(key(number)).entry?.body == body(number)) }
    #expect(store.statistics.entries > 50)
    store.close()
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a body is written piece by piece although others have left no room`(
    settling: Settling
  ) throws {
    let store = try openWithoutRoom(settling)
    let writer = try store.makeWriter(for: "long")
    try writer.write(body(200))
    try writer.commit()
    #expect(store.lookUp("long").entry?.body == body(200))
    #expect(store.statistics.entries > 50)
    store.close()
  }

  private func available() throws -> UInt64 {
    let process = SimulatedProcess(on: volume)
    let root = try process.open(userPath: "/", [.read, .directory])
    return try process.volume(of: root.raw).availableBytes
  }

  @Test func `the free space stays while a body is written`() throws {
    let store = try open(.atOnce, limits: Limits(freeBytes: 1 << 20))
    try fill(store, 300)
    let writer = try store.makeWriter(for: "long", length: 20 * 65_536)
    for number in 0..<20 {
      try writer.write(TestBody.make(65_536, seed: UInt64(number)))
      #expect(try available() >= 1 << 20)
    }
    try writer.commit()
    #expect(store.info(for: "long")?.length == 20 * 65_536)
    #expect(throws: StoreError.self) { try store.checkBodyLength(7 << 19) }
    store.close()
  }

  @Test(arguments: [nil, Limits(freeBytes: 500_000)], [(40, 65_536), (3, 700_000)])
  func `a body of unknown length that has no room leaves half of the entries`(
    limits: Limits?, entries: (count: Int, bytes: Int)
  ) throws {
    let store = try open(.atOnce, limits: limits)
    for number in 0..<entries.count {
      try store.put(TestBody.make(entries.bytes, seed: UInt64(number)), for: key(number))
    }
    let before = store.statistics.logicalBytes
    let writer = try store.makeWriter(for: "endless")
    #expect(throws: StoreError.self) {
      while true { try writer.write(TestBody.make(65_536, seed: 7)) }
    }
    #expect(store.statistics.evictions > 0)
    #expect(store.statistics.logicalBytes > before / 2)
    store.close()
  }

  @Test func `a body of known length gets the room of all others`() throws {
    let store = try open(.atOnce)
    for number in 0..<50 {
      try store.put(TestBody.make(65_536, seed: UInt64(number)), for: key(number))
    }
    let evictions = store.statistics.evictions
    #expect(throws: StoreError.self) { try store.makeWriter(for: "long", length: 5 << 20) }
    #expect(store.statistics.evictions == evictions)
    let length = 3 << 20
    let writer = try store.makeWriter(for: "long", length: UInt64(length))
    for _ in 0..<(length / 65_536) { try writer.write(TestBody.make(65_536, seed: 7)) }
    try writer.commit()
    #expect(store.info(for: "long")?.length == UInt64(length))
    store.close()
  }

  /// As `cachemigrate` opens its destination.
  @Test func `a store that keeps its entries on a full disk evicts for the free space`() throws {
    let store = try Store(
      at: "/store",
      options: Options(
        limits: Limits(freeBytes: 1 << 20), settling: .atOnce, evictsOnFullDisk: false,
        fileSystem: SimulatedProcess(on: volume)))
    try fill(store, 400)
    #expect(store.statistics.evictions > 0)
    try store.checkBodyLength(500_000)
    let writer = try store.makeWriter(for: "long")
    try writer.write(TestBody.make(500_000, seed: 1))
    try writer.commit()
    #expect(throws: StoreError.self) { try store.checkBodyLength(7 << 19) }
    #expect(store.info(for: "long") != nil && store.statistics.entries > 50)
    store.close()
  }

  /// As `cachemigrate` stores rows.
  @Test(arguments: [6_000, 100_000])
  func `an imported entry evicts nothing for the free space`(length: Int) throws {
    let store = try open(.atOnce, limits: Limits(freeBytes: 1 << 20))
    var stored = 0
    let error = #expect(throws: StoreError.self) {
      for number in 0..<1_000 {
        let body = TestBody.make(length, seed: UInt64(number))
        let past = ImportedTimes(
          created: nil, accessed: Timestamp(nanoseconds: Int64(number)))
        if number.isMultiple(of: 2) {
          try store.put(
            body, for: key(number), variant: 0, metadata: EntryMetadata(), past: past)
        } else {
          let writer = try store.makeWriter(
            for: key(number), variant: 0, metadata: EntryMetadata(), length: UInt64(length),
            past: past)
          try writer.write(body)
          try writer.commit()
        }
        stored += 1
      }
    }
    #expect(error?.code == .noSpace && error?.cause.contains("the limits leave") == true)
    #expect(stored > 10 && store.statistics.entries == stored && store.statistics.evictions == 0)
    // Others go on as before.
    try store.put(body(0), for: "new")
    #expect(store.contains("new"))
    store.close()
  }

  @Test func `entries with one body free it with the last of them`() throws {
    let store = try open(.atOnce, limits: Limits(freeBytes: 1 << 20))
    let shared = TestBody.make(100_000, seed: 99)
    for number in 0..<30 { try store.put(shared, for: ByteString("shared\(number)")) }
    for number in 0..<60 {
      try store.put(TestBody.make(60_000, seed: UInt64(number)), for: key(number))
    }
    #expect(store.lookUp(key(59)).entry != nil && store.statistics.entries > 20)
    store.close()
  }

  @Test func `settling keeps the free space that the limits demand`() throws {
    let store = try open(.within(seconds: 3_600), limits: Limits(freeBytes: 1 << 20))
    try fill(store, 600)
    try store.settle()
    #expect(try available() >= 1 << 20)
    #expect(store.statistics.entries > 100)
    store.close()
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a store that may not evict keeps its entries on a full volume`(
    settling: Settling
  ) throws {
    let store = try Store(
      at: "/store",
      options: Options(
        settling: settling, evictsOnFullDisk: false, fileSystem: SimulatedProcess(on: volume)))
    var stored = 0
    #expect(throws: StoreError.self) {
      for number in 0..<1_000 {
        try store.put(body(number), for: key(number))
        stored += 1
      }
    }
    #expect(store.statistics.entries == stored && store.statistics.evictions == 0)
    #expect(store.statistics.unsettledEntries == 0, "the log keeps bodies twice for a while")
    store.close()
  }
}
