import CLibrary
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

/// A segment cannot be opened, for a moment or for good, that another process writes.
@Suite struct UnopenedSegmentTests {
  private let volume = SimulatedVolume()
  private let first: SimulatedProcess
  private let second: SimulatedProcess

  init() {
    first = SimulatedProcess(on: volume)
    second = SimulatedProcess(on: volume)
  }

  private func open(_ process: SimulatedProcess) throws -> Store {
    var options = Options(settling: .within(seconds: 3_600), fileSystem: process)
    options.bootName = [1]
    return try Store(at: CrashScenario.path, options: options)
  }

  private func fault(_ code: Int32, _ segment: String = "00000002.log") -> SimulatedFault {
    SimulatedFault(.fail(SystemError(code)), at: 1, lasts: true) {
      $0.kind == .open && $0.name == segment
    }
  }

  private var segments: [String] {
    volume.tree.keys.filter { $0.hasSuffix(".log") }.map { String($0.suffix(12)) }.sorted()
  }

  private func roll(_ store: Store) {
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
  }

  private func expectAll(
    in stores: [Store], _ keys: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for store in stores {
      for key in 0..<keys {
        #expect(
          store.lookUp("\(key)").entry?.body == [UInt8(key)], sourceLocation: sourceLocation)
      }
      #expect(store.statistics.journalDamages == 0, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [EACCES, EPERM, EROFS, EMFILE, ENOMEM, ESTALE])
  func `a store with a segment that may not be opened is not opened, and loses nothing`(
    code: Int32
  ) throws {
    let store = try open(first)
    for key in 0..<3 { try store.put([UInt8(key)], for: "\(key)") }
    first.setFault(SimulatedFault(.endBefore, at: 1))
    let before = segments
    second.setFault(fault(code, "00000001.log"))
    let error = #expect(throws: StoreError.self) { try open(second) }
    #expect(error?.errno == code && error?.path.hasSuffix("00000001.log") == true)
    #expect(segments == before)
    let again = try open(SimulatedProcess(on: volume))
    expectAll(in: [again], 3)
    again.close()
  }

  @Test func `a store whose older segment cannot be read for now is not opened`() throws {
    let sandbox = StoreSandbox()
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    for key in 0..<3 {
      try store.put([UInt8(key)], for: "\(key)")
      roll(store)
    }
    store.close()
    let files = FaultyFiles()
    // Its header can be read.
    func fail(once: Bool) {
      let strikes = Atomic<Int>(0)
      files.faults.set {
        guard $0.kind == .read, $0.name == "00000001.log", $0.offset > 0 else { return nil }
        let strike = strikes.add(1, ordering: .relaxed).newValue
        return once && strike > 1 ? nil : SystemError(ENOMEM)
      }
    }
    fail(once: true)
    let other = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    expectAll(in: [other], 3)
    other.close()
    fail(once: false)
    let error = #expect(throws: StoreError.self) {
      try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    }
    #expect(error?.errno == ENOMEM && error?.path.hasSuffix("00000001.log") == true)
    let again = try sandbox.open(settling: .within(seconds: 3_600))
    expectAll(in: [again], 3)
    again.close()
  }

  @Test func `all go on in a segment that was begun without a seal`() throws {
    let stores = [try open(first)]
    try stores[0].put([0], for: "0")
    second.setFault(fault(EIO, "00000001.log"))
    var options = Options(settling: .within(seconds: 3_600), fileSystem: second)
    (options.bootName, options.isSupervised) = ([1], true)
    let other = try Store(at: CrashScenario.path, options: options)
    other.catalog.writer.beginJournal()
    try stores[0].put([1], for: "1")
    try other.put([2], for: "2")
    #expect(other.lookUp("1").entry?.body == [1])
    #expect(stores[0].lookUp("2").entry?.body == [2])
    second.setFault(nil)
    for store in [other] + stores { store.close() }
    let again = try open(SimulatedProcess(on: volume))
    for key in 1...2 { #expect(again.lookUp("\(key)").entry?.body == [UInt8(key)]) }
    again.close()
  }

  @Test(arguments: [EMFILE, ENFILE, EIO, EACCES])
  func `nothing is stored elsewhere while the segment of the others cannot be opened`(
    code: Int32
  ) throws {
    let stores = [try open(first), try open(second)]
    try stores[0].put([0], for: "0")
    try stores[1].put([1], for: "1")
    first.setFault(fault(code))
    roll(stores[1])
    try stores[1].put([2], for: "2")
    #expect(throws: StoreError.self) { try stores[0].put([3], for: "3") }
    first.setFault(nil)
    try stores[0].put([3], for: "3")
    try stores[1].put([4], for: "4")
    expectAll(in: stores, 5)
    #expect(segments == ["00000001.log", "00000002.log"])
    for store in stores { store.close() }
    let again = try open(SimulatedProcess(on: volume))
    expectAll(in: [again], 5)
    again.close()
  }

  @Test(arguments: [EMFILE, EIO])
  func `what others remove there is not served`(code: Int32) throws {
    let stores = [try open(first), try open(second)]
    for key in 0..<3 { try stores[0].put([UInt8(key)], for: "\(key)") }
    try stores[0].settle()
    #expect(stores[1].contains("0"))
    first.setFault(fault(code))
    roll(stores[1])
    try stores[1].remove("0")
    try stores[1].put([9], for: "1")
    for key in 0..<2 { #expect(stores[0].lookUp("\(key)").entry?.body != [UInt8(key)]) }
    #expect(stores[0].lookUp("2").entry?.body == [2])
    try stores[1].removeAll()
    for key in 0..<3 { #expect(stores[0].lookUp("\(key)").entry == nil) }
    first.setFault(nil)
    try stores[1].put([4], for: "2")
    #expect(stores[0].lookUp("2").entry?.body == [4])
    for store in stores { store.close() }
  }

  @Test(arguments: [EMFILE, ENOMEM])
  func `errors that may pass do not make a journal damaged`(code: Int32) throws {
    let stores = [try open(first), try open(second)]
    try stores[0].put([0], for: "0")
    first.setFault(fault(code))
    roll(stores[1])
    try stores[1].put([1], for: "1")
    #expect(throws: StoreError.self) { try stores[0].put([2], for: "2") }
    stores[0].waitUntilIdle()
    #expect(throws: StoreError.self) { try stores[0].put([2], for: "2") }
    #expect(throws: StoreError.self) { try stores[0].remove("1") }
    first.setFault(nil)
    try stores[0].put([2], for: "2")
    expectAll(in: stores, 3)
    for store in stores { store.close() }
  }

  @Test func `a segment that stays closed to one process is left by all`() throws {
    let stores = [try open(first), try open(second)]
    try stores[0].put([0], for: "0")
    try stores[1].put([1], for: "1")
    // Of entries that only the log has it is not known whether the segment replaces them.
    try stores[1].settle()
    first.setFault(fault(EIO))
    roll(stores[1])
    try stores[1].put([2], for: "2")
    #expect(throws: StoreError.self) { try stores[0].put([3], for: "3") }
    stores[0].waitUntilIdle()
    try stores[0].put([3], for: "3")
    try stores[1].put([4], for: "4")
    for store in stores {
      for key in [0, 1, 3, 4] { #expect(store.lookUp("\(key)").entry?.body == [UInt8(key)]) }
      store.waitUntilIdle()
      store.close()
    }
    let again = try open(SimulatedProcess(on: volume))
    for key in [0, 1, 3, 4] { #expect(again.lookUp("\(key)").entry?.body == [UInt8(key)]) }
    again.close()
  }

  @Test func `after others have dropped segments, one that cannot be opened is awaited`() throws {
    let stores = [try open(first), try open(second)]
    for key in 0..<3 { try stores[1].put([UInt8(key)], for: "\(key)") }
    first.setFault(
      SimulatedFault(.fail(SystemError(EMFILE)), at: 1, lasts: true) {
        $0.kind == .open && $0.name.hasSuffix(".log")
      })
    // Two segments that the first store has not read are gone.
    for _ in 0..<2 {
      roll(stores[1])
      try stores[1].put([3], for: "3")
      try stores[1].purge()
    }
    #expect(throws: StoreError.self) { try stores[0].put([4], for: "4") }
    #expect(throws: StoreError.self) { try stores[0].remove("1") }
    #expect(throws: StoreError.self) { try stores[0].purge() }
    let before = segments
    first.setFault(nil)
    try stores[0].put([4], for: "4")
    try stores[1].put([5], for: "5")
    #expect(segments == before)
    expectAll(in: stores, 6)
    for store in stores { store.close() }
  }

  @Test func `a store is not opened with too few files, and loses nothing`() throws {
    let store = try open(first)
    for key in 0..<4 {
      roll(store)
      try store.put([UInt8(key)], for: "\(key)")
    }
    for segment in segments {
      second.setFault(fault(EMFILE, segment))
      let error = #expect(throws: StoreError.self) { _ = try open(second) }
      #expect(error?.remedy.contains("ulimit") == true)
    }
    second.setFault(nil)
    let other = try open(second)
    expectAll(in: [store, other], 4)
    for store in [store, other] { store.close() }
  }

  @Test func `when the next segment can be opened again, the next look-up finds all`() throws {
    let store = try open(first)
    try store.put([0], for: "0")
    first.setFault(
      SimulatedFault(.fail(SystemError(EMFILE)), at: 2, lasts: true) {
        $0.kind == .open && $0.name == "00000002.log"
      })
    roll(store)
    // It was begun and could be opened, but not after the seal that names it.
    #expect(throws: StoreError.self) { try store.put([1], for: "1") }
    guard case .miss(.damaged) = store.lookUp("0") else {
      Issue.record("the entry may have been replaced there")
      return
    }
    first.setFault(nil)
    #expect(store.lookUp("0").entry?.body == [0])
    store.close()
  }

  @Test func `a segment without a seal is not passed over`() throws {
    let stores = [try open(first), try open(second)]
    try stores[0].put([0], for: "0")
    first.setFault(fault(EMFILE))
    // As for a segment with a second name.
    #expect(stores[1].lookUp("0").entry?.body == [0])
    let catalog = stores[1].catalog
    let current = try #require(catalog.state.withLock { $0.journal.current })
    _ = try catalog.journal.withLock { () throws(StoreError) in try catalog.writer.leave(current) }
    try stores[1].put([1], for: "1")
    #expect(throws: StoreError.self) { try stores[0].put([2], for: "2") }
    first.setFault(nil)
    try stores[0].put([2], for: "2")
    expectAll(in: stores, 3)
    for store in stores { store.close() }
  }

  @Test func `a segment whose file was removed is not written to`() throws {
    let folder = JournalFolder()
    let store = try folder.open()
    for key in 0..<3 { try store.put([UInt8(key)], for: "\(key)") }
    for segment in folder.segments { try folder.remove(segment) }
    try store.put([3], for: "3")
    #expect(!folder.segments.isEmpty)
    store.waitUntilIdle()
    for key in 0..<4 { #expect(store.lookUp("\(key)").entry?.body == [UInt8(key)]) }
    store.close()
    let again = try folder.open()
    for key in 0..<4 { #expect(again.lookUp("\(key)").entry?.body == [UInt8(key)]) }
    again.close()
  }
}
