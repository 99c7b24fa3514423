import CacheSystem
import Foundation
import SimulatedFiles
import TestSupport
import Testing

/// The simulated files against those of the operating system.
@Suite struct SimulatedVolumeTests {
  @Test(arguments: 1...20)
  func `a random sequence of calls gives the same results on both`(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let process = SimulatedProcess(on: SimulatedVolume())
    try process.makeDirectory(userPath: "/root", mode: 0o700)
    var real = RandomCalls(RealFileSystem(), root: folder.path, seed: seed)
    var simulated = RandomCalls(process, root: "/root", seed: seed)
    var successes = 0
    for step in 0..<400 {
      let (expected, found) = (real.step(), simulated.step())
      try #require(found == expected, "seed \(seed), step \(step)")
      successes += expected.hasSuffix("failed") ? 0 : 1
    }
    #expect(successes > 50)
  }

  @Test func `a removed directory takes no names, and its parent is not empty before`() throws {
    let process = SimulatedProcess(on: SimulatedVolume())
    let root = try process.open(userPath: "/", [.read, .directory])
    try process.makeDirectory(PathName("a"), in: root.raw, mode: 0o700)
    let inner = try process.open(PathName("a"), in: root, [.read, .directory])
    try process.makeDirectory(PathName("b"), in: inner.raw, mode: 0o700)
    #expect(throws: SystemError.notEmpty) {
      try process.removeDirectory(PathName("a"), in: root.raw)
    }
    try process.removeDirectory(PathName("b"), in: inner.raw)
    try process.removeDirectory(PathName("a"), in: root.raw)
    #expect(throws: SystemError.notFound) {
      try process.makeDirectory(PathName("b"), in: inner.raw, mode: 0o700)
    }
  }

  @Test func `a full volume takes what fits, and says so`() throws {
    let process = SimulatedProcess(on: SimulatedVolume(capacityBytes: 4 * 4096))
    let root = try process.open(userPath: "/", [.read, .directory])
    let file = try process.openOnce(
      PathName("f"), in: root.raw, [.read, .write, .create], mode: 0o600)
    // The root takes one page.
    #expect(try write(5 * 4096, to: file, at: 0, process) == 3 * 4096)
    #expect(throws: SystemError(ENOSPC)) { try write(1, to: file, at: 3 * 4096, process) }
    #expect(try write(1, to: file, at: 0, process) == 1)
    try process.truncateOnce(file, to: 4096)
    #expect(try write(1, to: file, at: 4096, process) == 1)
  }

  /// Writes with one call, and tells how much was taken.
  private func write(
    _ count: Int, to file: Int32, at offset: Int64, _ process: SimulatedProcess
  ) throws -> Int {
    // Safety: the array outlives the call.
    try unsafe [UInt8](repeating: 7, count: count).withUnsafeBytes {
      unsafe try process.writeOnce(file, from: $0, at: offset)
    }
  }

  @Test func `locks exclude openings, not processes, and go with both`() throws {
    let volume = SimulatedVolume()
    let (one, two) = (SimulatedProcess(on: volume), SimulatedProcess(on: volume))
    let ownRoot = try one.open(userPath: "/", [.read, .directory])
    let sameRoot = try one.open(userPath: "/", [.read, .directory])
    let otherRoot = try two.open(userPath: "/", [.read, .directory])
    #expect(try one.tryLock(ownRoot))
    #expect(try one.tryLock(ownRoot))
    #expect(try !one.tryLock(sameRoot))
    #expect(try !two.tryLock(otherRoot))
    one.end()
    #expect(one.hasEnded && !two.hasEnded)
    #expect(try two.tryLock(otherRoot))
    #expect(throws: SystemError.processEnded) { try one.tryLock(sameRoot) }
    two.unlock(otherRoot.raw)
    try two.lock(otherRoot, exclusive: false)
  }

  @Test func `who waits for a lock gets it when its holder ends`() throws {
    let volume = SimulatedVolume()
    let (one, two) = (SimulatedProcess(on: volume), SimulatedProcess(on: volume))
    let held = try one.open(userPath: "/", [.read, .directory])
    try one.lock(held)
    let isLocked = Monitor(false)
    try startThread {
      let root = try? two.openOnce(userPath: "/", [.read, .directory])
      try? two.lockOnce(root ?? -1, exclusive: true, wait: true)
      isLocked.change { $0 = true }
    }
    one.end()
    isLocked.wait { $0 ? () : nil }
    let other = SimulatedProcess(on: volume)
    let third = try other.open(userPath: "/", [.read, .directory])
    #expect(try !other.tryLock(third))
  }
}
