import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// What a process knows of a restart of the machine that took records with it, and of damage before.
@Suite struct RestartTests {
  private let long = TestBody.make(40_000, seed: 7)

  private func open(
    _ process: SimulatedProcess, boot: UInt8 = 1, comparing: Bool = true,
    durability: Durability = .full
  ) throws -> Store {
    var options = Options(
      durability: durability, settling: .within(seconds: 3_600), fileSystem: process)
    options.bootName = [boot]
    options.isSupervised = !comparing
    return try Store(at: CrashScenario.path, options: options)
  }

  @Test(arguments: [PowerLossProfile.ext4, .posix])
  func `what is stored after a power cut is not replaced by a file that it left`(
    profile: PowerLossProfile
  ) throws {
    var place = 0
    var hasStruck = true
    var failures: [String] = []
    while hasStruck {
      place += 1
      let volume = SimulatedVolume()
      // A supervised store begins no segment of format 2.
      let first = try open(SimulatedProcess(on: volume))
      try first.put([5], for: "first")
      first.close()
      let process = SimulatedProcess(on: volume)
      let store = try open(process, comparing: false)
      for number in 0..<4 { try store.put([1], for: ByteString("\(number)")) }
      try store.settle()
      process.setFault(SimulatedFault(.losePower, at: place))
      _ = try? store.put(long, for: "k")
      hasStruck = process.hasEnded
      process.end()
      for seed in 0..<8 as Range<UInt64> {
        let left = volume.afterPowerLoss(profile, seed: seed)
        let user = try open(SimulatedProcess(on: left), boot: 2, comparing: false)
        try user.put([9], for: "k")
        user.recovery.reconcile()
        if user.lookUp("k").entry?.body != [9] {
          failures.append("place \(place) seed \(seed)")
        }
        user.close()
      }
    }
    #expect(failures == [])
  }

  @Test func `a read that fails once cuts nothing off`() throws {
    let body = TestBody.make(8_000, seed: 3)
    var place = 0
    var hasStruck = true
    while hasStruck {
      place += 1
      let volume = SimulatedVolume()
      let process = SimulatedProcess(on: volume)
      let store = try open(process)
      for number in 0..<300 { try store.put(body, for: ByteString("\(number)")) }
      store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
      try store.put(body.reversed(), for: "promised")
      process.end()
      let next = SimulatedProcess(on: volume)
      next.setFault(
        SimulatedFault(.fail(.inputOutput), at: place) {
          $0.kind == .read && $0.name == "00000001.log"
        })
      let again = try open(next, boot: 2)
      hasStruck = next.struck != nil
      next.setFault(nil)
      #expect(again.lookUp("promised").entry?.body == body.reversed(), "read \(place)")
      again.close()
    }
    #expect(place > 4)
  }

  @Test func `a store opens where a quota does not let its journal be cut`() throws {
    let cuts = Atomic<Int>(0)
    let body = TestBody.make(4_000, seed: 1)
    for seed in 0..<64 as Range<UInt64> {
      let volume = SimulatedVolume()
      let first = try open(SimulatedProcess(on: volume))
      for number in 0..<4 { try first.put([1], for: ByteString("\(number)")) }
      first.close()
      let process = SimulatedProcess(on: volume)
      let store = try open(process, durability: .process)
      for number in 4..<20 { try store.put(body, for: ByteString("\(number)")) }
      process.end()
      let left = volume.afterPowerLoss(.posix, seed: seed)
      let next = SimulatedProcess(on: left)
      next.setFault(
        SimulatedFault(.fail(SystemError(EDQUOT)), at: 1, lasts: true) { call in
          if call.kind == .truncate { cuts.add(1, ordering: .relaxed) }
          return call.kind == .truncate
        })
      let user = try open(next, boot: 2, durability: .process)
      for number in 0..<4 { #expect(user.lookUp(ByteString("\(number)")).entry?.body == [1]) }
      for number in 4..<20 {
        let found = user.lookUp(ByteString("\(number)")).entry?.body
        #expect(found == nil || found == body)
      }
      user.waitUntilIdle()
      next.setFault(nil)
      try user.put([2], for: "new")
      user.close()
      let last = try open(SimulatedProcess(on: left), boot: 2)
      last.waitUntilIdle()
      for number in 0..<4 { #expect(last.lookUp(ByteString("\(number)")).entry?.body == [1]) }
      #expect(last.lookUp("new").entry?.body == [2])
      last.close()
    }
    #expect(cuts.load(ordering: .relaxed) > 0)
  }

  private enum Ending: CaseIterable { case none, killed, closed, relinquished }

  @Test(arguments: Ending.allCases)
  private func `a journal that cannot be written anew keeps the sign of the restart`(
    ending: Ending
  ) throws {
    let volume = SimulatedVolume()
    let first = try open(SimulatedProcess(on: volume))
    try first.put([5], for: "settled")
    first.close()
    let process = SimulatedProcess(on: volume)
    let store = try open(process, comparing: false)
    try store.put([0], for: "first")
    process.end()
    let next = SimulatedProcess(on: volume)
    let user = try open(next, boot: 2, comparing: false)
    // As `cutUnsynced` does after a damaged record that was not synced.
    let end = user.catalog.state.withLock { $0.journal.sequence }
    try user.catalog.writer.noteLostRecords(through: end + 1)
    try user.put([1], for: "gap")
    next.setFault(
      SimulatedFault(.fail(SystemError(ENOSPC)), at: 1, lasts: true) {
        $0.kind == .write && $0.name.hasSuffix(".log")
      })
    user.recovery.reconcile()
    #expect(user.lookUp("first").entry?.body == [0])
    next.setFault(nil)
    switch ending {
    case .none: break
    case .killed: next.end()
    case .closed:
      user.close()
      for number in 0..<3 {
        let again = try open(SimulatedProcess(on: volume), boot: 2, comparing: false)
        #expect(try again.recovery.deadSessionsNow().count == 2)
        try again.put([2], for: ByteString("again\(number)"))
        again.close()
      }
    case .relinquished: user.relinquish()
    }
    let last = try open(SimulatedProcess(on: volume), boot: 2)
    last.waitUntilIdle()
    #expect(last.lookUp("first").entry?.body == [0])
    #expect(last.lookUp("gap").entry?.body == [1])
    last.close()
    user.close()
  }

  @Test(arguments: [UInt8(1), 2], [Durability.full, .process])
  func `a gap that damage has left before the restart brings no removed entry back`(
    boot: UInt8, durability: Durability
  ) throws {
    let folder = JournalFolder()
    func open(boot: UInt8, comparing: Bool = true) throws -> Store {
      var options = Options(durability: durability, settling: .within(seconds: 3_600))
      options.bootName = [boot]
      options.isSupervised = !comparing
      return try Store(at: folder.path, options: options)
    }
    let store = try open(boot: 1)
    try store.put([7], for: "removed")
    try store.remove("removed")
    store.close()
    let segment = try #require(folder.segments.last)
    var bytes = folder.bytes(segment)
    let records = folder.records(in: segment)
    let last = try #require(records.last)
    #expect(last.header.type == .remove)
    bytes[last.offset + 20] ^= 1
    try folder.write(bytes, to: segment)
    let next = try open(boot: 1, comparing: false)
    #expect(next.lookUp("removed").entry == nil)
    try next.put([1, 2], for: "next")
    #expect(next.lookUp("removed").entry == nil)
    next.close()
    // With the lower durability, a clean restart.
    if boot == 2 && durability == .full {
      try FileManager.default.createDirectory(
        atPath: folder.path + "/staging/00000000deadbeef", withIntermediateDirectories: true)
    }
    let again = try open(boot: boot)
    again.waitUntilIdle()
    #expect(again.lookUp("removed").entry?.body == nil)
    #expect(again.lookUp("next").entry?.body == [1, 2])
    again.close()
  }

  @Test func `a read-only store after a restart has what was promised`() throws {
    let volume = SimulatedVolume()
    let process = SimulatedProcess(on: volume)
    let store = try open(process)
    try store.put([0], for: "first")
    process.end()
    let user = try open(SimulatedProcess(on: volume), boot: 2, comparing: false)
    let end = user.catalog.state.withLock { $0.journal.sequence }
    try user.catalog.writer.noteLostRecords(through: end + 1)
    try user.put([1], for: "gap")
    var options = Options(isReadOnly: true, fileSystem: SimulatedProcess(on: volume))
    options.bootName = [2]
    let reader = try Store(at: CrashScenario.path, options: options)
    #expect(reader.lookUp("first").entry?.body == [0])
    reader.close()
    user.close()
  }
}
