import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@testable import CacheStore

/// Every call to the system fails once, at each place where a change makes one: the change is done
/// whole, or not at all and said so.
@Suite struct KeyFilesTests {
  enum Change: String, CaseIterable, Sendable {
    case new, replace, replaceWithEqual, share, commit, update, remove, removeAll
    /// Stores an equal body again after a sync has failed, from memory or from staging.
    case writeAnew, writeAnewStaged

    var isAfterFailedSync: Bool { self == .writeAnew || self == .writeAnewStaged }
  }

  static let errors = [ENOSPC, EIO, EMFILE, EACCES]
  static let old = TestBody.make(5_000, seed: 1)
  static let other = TestBody.make(6_000, seed: 2)

  /// Makes the change under test.
  private func run(_ change: Change, _ store: Store) throws(StoreError) {
    switch change {
    case .new: try store.put(Self.old, for: "new")
    case .replace: try store.put([9, 9], for: "k")
    case .replaceWithEqual, .writeAnew:
      try store.put(Self.old, for: "k", metadata: EntryMetadata(status: 201))
    case .share: try store.put(Self.other, for: "k")
    case .commit:
      let writer = try store.makeWriter(for: "k")
      try writer.write([8])
      try writer.write([8])
      try writer.commit()
    case .writeAnewStaged:
      let writer = try store.makeWriter(for: "k", metadata: EntryMetadata(status: 201))
      try writer.write(Self.old)
      try writer.commit()
    case .update: try store.update("k") { $0.status = 201 }
    case .remove: try store.remove("k")
    case .removeAll: try store.removeAll()
    }
  }

  /// What the store says of the key before and after the change.
  private func states(_ change: Change) -> (before: [UInt8]?, after: [UInt8]?, status: Int?) {
    switch change {
    case .new: (nil, Self.old, nil)
    case .replace: (Self.old, [9, 9], nil)
    case .replaceWithEqual, .writeAnew, .writeAnewStaged, .update: (Self.old, Self.old, 201)
    case .share: (Self.old, Self.other, nil)
    case .commit: (Self.old, [8, 8], nil)
    case .remove, .removeAll: (Self.old, nil, nil)
    }
  }

  @Test(arguments: Change.allCases, errors)
  func `a call that fails leaves the old or the new`(change: Change, code: Int32) throws {
    try sweep(change, code) { place in CountedFault(after: place, SystemError(code)) { _ in true } }
  }

  @Test(arguments: Change.allCases)
  func `a process that has no more descriptors leaves the old or the new`(change: Change) throws {
    try sweep(change, EMFILE) { place in
      CountedFault(after: place, lasts: true, SystemError(EMFILE)) { $0.kind == .open }
    }
  }

  @Test(arguments: Change.allCases, [ENOSPC, EROFS])
  func `a disk that takes no more changes leaves the old or the new`(change: Change, code: Int32)
    throws
  {
    // A directory that was moved away cannot be moved back then.
    if change == .removeAll && code == EROFS { return }
    try sweep(change, code) { place in
      CountedFault(after: place, lasts: true, SystemError(code)) {
        $0.isChange && (code == EROFS || $0.takesRoom || $0.kind == .open)
      }
    }
  }

  /// Makes the change once for each place at which the fault can strike.
  private func sweep(_ change: Change, _ code: Int32, _ make: (Int) -> CountedFault) throws {
    let key: ByteString = change == .new ? "new" : "k"
    let (before, after, status) = states(change)
    for place in 0..<200 {
      let sandbox = StoreSandbox()
      let files = FaultyFiles()
      let durability: Durability = change.isAfterFailedSync ? .full : .process
      let store = try sandbox.open(Options(durability: durability, fileSystem: files))
      try store.put(Self.old, for: "k", metadata: EntryMetadata(status: 200))
      try store.put(Self.other, for: "o")
      if change.isAfterFailedSync { store.catalog.tree.noteUnsyncedBody() }
      try store.pin("o")
      try store.pin("k")
      let fault = make(place)
      files.faults.set { fault.check($0) }
      var failed: StoreError?
      do throws(StoreError) { try run(change, store) } catch { failed = error }
      files.faults.set(nil)
      let what: Comment =
        "\(change) with error \(code) at call \(place), \(String(describing: failed))"
      #expect(failed?.path.hasPrefix(sandbox.root) != false, what)
      store.waitUntilIdle()
      for (number, open) in [store, try sandbox.open()].enumerated() {
        let found = open.lookUp(key).entry
        #expect(found?.body == (failed == nil ? after : before), "\(what), instance \(number)")
        if failed == nil { #expect(found == nil || found?.info.status == status, what) }
        if change != .removeAll || failed != nil {
          #expect(open.lookUp("o").entry?.body == Self.other, what)
        }
        #expect(open.statistics.damagedMisses == 0, what)
        if number == 0 { store.close() } else { open.waitUntilIdle() }
      }
      #expect(sandbox.quarantined == [], what)
      // What fails while files are removed may leave an orphan, and a sign of that for the next opening.
      let next = try sandbox.open()
      next.waitUntilIdle()
      next.close()
      #expect(sandbox.sessions == [], what)
      if failed == nil && !fault.hasStruck { return }
    }
    Issue.record("more calls than expected")
  }

  @Test func `a disk that fills up at any write makes room or fails cleanly`() throws {
    for place in 0..<12 {
      let sandbox = StoreSandbox()
      let files = FaultyFiles()
      let store = try sandbox.open(Options(clock: SteppingClock(step: 1_000), fileSystem: files))
      for number in 0..<30 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
      // Full once: room is made by evicting, and the second try succeeds.
      let once = CountedFault(after: place, SystemError(ENOSPC)) { $0.takesRoom }
      files.faults.set { once.check($0) }
      try store.put(Self.old, for: "new")
      #expect(store.lookUp("new").entry?.body == Self.old)
      #expect((store.statistics.evictions > 0) == once.hasStruck)
      if once.hasStruck { #expect(!store.contains("k0")) }
      // Full from here on: said so, and nothing that was promised is lost but what was evicted.
      files.faults.set(nil)
      try store.pin("k29")
      let lasting = CountedFault(after: place, lasts: true, SystemError(ENOSPC)) {
        $0.takesRoom
      }
      files.faults.set { lasting.check($0) }
      var failure: StoreError?
      do throws(StoreError) { try store.put(Self.other, for: "k29") } catch { failure = error }
      files.faults.set(nil)
      #expect((failure != nil) == lasting.hasStruck)
      if let failure { #expect(failure.code == .noSpace && failure.errno == ENOSPC) }
      #expect(store.lookUp("k29").entry?.body == (failure == nil ? Self.other : [29]))
      store.close()
      let reopened = try sandbox.open()
      #expect(reopened.lookUp("k29").entry?.body == (failure == nil ? Self.other : [29]))
      #expect(reopened.statistics.journalDamages == 0)
      try reopened.put([1], for: "later")
      #expect(reopened.lookUp("later").entry?.body == [1])
    }
  }
}
