import CacheSystem
import SimulatedFiles
import Testing

/// What goes wrong in a simulated process, and when.
@Suite struct SimulatedFaultTests {
  private let volume = SimulatedVolume()

  /// Makes files until a call fails.
  ///
  /// - Returns: how many there are, and the error.
  private func makeFiles(_ process: SimulatedProcess) -> (count: Int, error: SystemError?) {
    for count in 0..<5 {
      do throws(SystemError) {
        let root = try process.open(userPath: "/", [.read, .directory])
        let name = PathName(bytes: Array("f\(count)".utf8)) ?? PathName()
        let file = try process.open(name, in: root, [.write, .create])
        try process.write(file, [UInt8](repeating: 3, count: 6000))
      } catch { return (count, error) }
    }
    return (5, nil)
  }

  @Test func `one call fails, or all from it on`() {
    let once = SimulatedProcess(
      on: volume, fault: SimulatedFault(.fail(.inputOutput), at: 2) { $0.kind == .write })
    #expect(makeFiles(once) == (1, .inputOutput))
    #expect(once.struck?.description == "write f1")
    #expect(makeFiles(once) == (5, nil))
    let always = SimulatedProcess(
      on: volume, fault: SimulatedFault(.fail(.inputOutput), at: 3, lasts: true, matching: \.opens))
    #expect(makeFiles(always) == (1, .inputOutput))
    #expect(makeFiles(always) == (0, .inputOutput))
    always.setFault(nil)
    #expect(makeFiles(always) == (5, nil))
  }

  @Test func `interrupted calls and halves are made up for by who calls`() {
    let interrupted = SimulatedProcess(
      on: volume,
      fault: SimulatedFault(.fail(.interrupted), at: 1, matching: \.isInterruptible))
    #expect(makeFiles(interrupted) == (5, nil))
    let halves = SimulatedProcess(
      on: volume, fault: SimulatedFault(.transferHalf, at: 1, lasts: true) { $0.kind == .write })
    #expect(makeFiles(halves) == (5, nil))
    #expect(volume.tree.values.map(\.length) == Array(repeating: 6000, count: 5))
  }

  @Test(
    arguments: [
      (.endBefore, 0), (.endWithin, 4096), (.endAfter, 6000), (.losePower, 6000),
    ] as [(SimulatedFault.Effect, UInt64)])
  func `a process ends before, within or after a call`(
    effect: SimulatedFault.Effect, length: UInt64
  ) {
    let other = SimulatedProcess(on: volume)
    let process = SimulatedProcess(
      on: volume, fault: SimulatedFault(effect, at: 1) { $0.kind == .write })
    #expect(makeFiles(process) == (0, .processEnded))
    #expect(process.hasEnded)
    #expect(other.hasEnded == (effect == .losePower))
    #expect(volume.tree.mapValues(\.length) == ["f0": length])
    #expect(makeFiles(process) == (0, .processEnded))
    #expect(makeFiles(SimulatedProcess(on: volume)) == (5, nil))
  }

  @Test func `calls are counted and told`() throws {
    let process = SimulatedProcess(on: volume, recordsTrace: true)
    try process.makeDirectory(userPath: "/d", mode: 0o700)
    _ = try process.openOnce(userPath: "/d", [.read, .directory])
    #expect(process.operations == 2)
    #expect(process.trace.map(\.description) == ["makeDirectory /d", "openUserPath /d"])
    #expect(process.trace.map(\.isChange) == [true, false])
  }
}
