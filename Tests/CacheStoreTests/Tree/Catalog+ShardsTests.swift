import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

@Suite struct CatalogShardsTests {
  let sandbox = StoreSandbox()

  @Test func `nothing is stored in a directory that this process has moved away`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    let progress = Mutex((hasMoved: false, hasFailed: false))
    files.faults.set { call in
      // What was moved away stays for now.
      if call.kind == .removeFile { return .inputOutput }
      return progress.withLock { progress in
        if call.kind == .rename { progress.hasMoved = true }
        guard call.kind == .open, call.name == "entries", progress.hasMoved, !progress.hasFailed
        else { return nil }
        progress.hasFailed = true
        return SystemError(EMFILE)
      }
    }
    try store.removeAll()
    #expect(progress.withLock { $0.hasFailed })
    let body = TestBody.make(100_000, seed: 3)
    try store.put(body, for: "c")
    files.faults.set(nil)
    store.upkeep.request(.sweep)
    store.waitUntilIdle()
    #expect(store.lookUp("c").entry?.body == body)
    #expect(store.lookUp("a").entry == nil)
  }

  @Test func `nothing is stored in a directory that another process has moved away`() throws {
    let (mine, others) = (FaultyFiles(), FaultyFiles())
    let store = try sandbox.open(Options(fileSystem: mine))
    let other = try sandbox.open(Options(fileSystem: others))
    try store.put([1], for: "a")
    #expect(other.lookUp("a").entry?.body == [1])
    mine.faults.set { $0.kind == .open && $0.name == "entries" ? SystemError(EMFILE) : nil }
    // What was moved away stays for now.
    others.faults.set { $0.kind == .removeFile ? .inputOutput : nil }
    try other.removeAll()
    #expect(throws: StoreError.self) { try store.put([2], for: "b") }
    mine.faults.set(nil)
    let body = TestBody.make(100_000, seed: 3)
    try store.put(body, for: "c")
    other.waitUntilIdle()
    others.faults.set(nil)
    other.upkeep.request(.sweep)
    other.waitUntilIdle()
    #expect(store.lookUp("c").entry?.body == body)
    #expect(store.lookUp("a").entry == nil)
  }
}
