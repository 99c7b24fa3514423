import CLibrary
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

@Suite struct ShardCheckTests {
  private func one() throws -> (CheckSandbox, shard: String) {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1, 2, 3], for: "a") }
    return (sandbox, String(try sandbox.key().dropFirst(8).prefix(2)))
  }

  @Test func `a repair counts only if what it was for is gone`() {
    for attempt in [MendAttempt.none, .done, .failed("why")] {
      #expect(outcome(attempt, isLeft: false) == .repaired)
    }
    #expect(outcome(.none, isLeft: true) == .left)
    #expect(outcome(.done, isLeft: true) == .failed("it is still so after the repair"))
    #expect(outcome(.failed("why"), isLeft: true) == .failed("why"))
  }

  @Test(arguments: RepairLevel.allCases.map { $0 as RepairLevel? } + [nil])
  func `a shard that cannot be read is told once, and its entries are not lost`(
    level: RepairLevel?
  ) throws {
    let (sandbox, shard) = try one()
    for error in [SystemError.inputOutput, SystemError(EACCES)] {
      let files = FaultyFiles()
      files.faults.set { $0.kind == .open && $0.name == shard ? error : nil }
      let checked =
        try level.map { try sandbox.repair($0, fileSystem: files) }
        ?? sandbox.check(.deep, fileSystem: files)
      #expect(checked.paths(.unreadable) == ["entries/\(shard)"])
      #expect(checked.kinds == [.unreadable] && checked.report.lostEntries == 0)
    }
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test(arguments: [EMFILE, ENFILE])
  func `too many open files end a check, and no entry is taken for missing`(code: Int32) throws {
    let (sandbox, shard) = try one()
    let key = String(try sandbox.key().suffix(30))
    for name in [shard, key] {
      for isRepair in [false, true] {
        let files = FaultyFiles()
        files.faults.set { $0.kind == .open && $0.name == name ? SystemError(code) : nil }
        let error = #expect(throws: CheckError.self, "\(name)") {
          _ =
            isRepair
            ? try sandbox.repair(.all, fileSystem: files)
            : try sandbox.check(.deep, fileSystem: files)
        }
        #expect(error?.errno == code)
      }
    }
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `variants with one body are lost together, and counted once each`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for variant in 0..<3 as Range<UInt64> {
        try store.put([1, 2, 3], for: "a", variant: variant)
      }
      try store.put([4], for: "a", variant: 3)
    }
    let shared = try #require(try sandbox.files(".body").first { try sandbox.bytes($0).count == 3 })
    try sandbox.cut(shared, by: 1)
    let repaired = try sandbox.repair(.all)
    #expect(repaired.kinds == [.bodyShort] && repaired.report.lostEntries == 3)
    #expect(repaired.findings.map(\.lostEntries) == [3])
  }
}
