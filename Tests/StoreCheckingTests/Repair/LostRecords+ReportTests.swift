import CacheFormat
import CacheStore
import StoreChecking
import Testing

// What a repair says of entries before a damage of the journal.
extension LostRecordsTests {
  @Test(arguments: RepairLevel.allCases)
  func `an entry without files before a damage of the journal is reported`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { store in
      try store.put([UInt8](repeating: 1, count: 9_000), for: "gone")
      try store.put([UInt8](repeating: 2, count: 9_000), for: "kept")
      try store.settle()
      try store.put([3], for: "later")
    }
    let name = try #require(try sandbox.names("journal").first { $0.hasSuffix(".log") })
    let records = try sandbox.records("journal/\(name)")
    try sandbox.flip("journal/\(name)", at: records[4].lowerBound + 20)
    try sandbox.removeTree(try sandbox.directory(of: "gone"))
    let journal = try sandbox.bytes("journal/\(name)")
    let forecast = try sandbox.forecast(.deep)
    let repaired = try sandbox.repair(level)
    #expect(repaired.kinds == [.entryMissing, .entryUnrecorded, .recordDamaged])
    #expect(forecast.report.lostEntries == 1)
    #expect(repaired.report.lostEntries == (level == .all ? 1 : 0))
    if level == .safe {
      // The journal still has the body.
      #expect(repaired.report.left == 2)
      #expect(try sandbox.bytes("journal/\(name)").starts(with: journal))
      #expect(try sandbox.repair(.all).report.lostEntries == 1)
    }
    #expect(try sandbox.check(.deep).findings.isEmpty)
  }

  @Test(arguments: RepairLevel.allCases)
  func `entries in the log before a damage of the journal are reported as lost`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.kill { store in
      for number in 0..<6 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    }
    let name = try #require(try sandbox.names("journal").filter { $0.hasSuffix(".log") }.max())
    let records = try sandbox.records("journal/\(name)")
    try sandbox.flip("journal/\(name)", at: records[records.count - 3].lowerBound + 20)
    let forecast = try sandbox.forecast(.deep)
    let repaired = try sandbox.repair(level)
    for report in [forecast, repaired] {
      #expect(report.kinds.filter { $0 == .entryDoubtful }.count == 3, "\(report.findings)")
      #expect(report.report.lostEntries == 3)
    }
    #expect(try bodies(sandbox) == ["k4": [4], "k5": [5]])
    #expect(try sandbox.check(.deep).findings.isEmpty)
  }

  @Test func `entries in the log that a safe repair must leave are reported, with the cause`()
    throws
  {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { store in
      try store.put([UInt8](repeating: 1, count: 9_000), for: "gone")
    }
    try sandbox.kill { store in
      for number in 0..<6 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    }
    let name = try #require(try sandbox.names("journal").filter { $0.hasSuffix(".log") }.max())
    let records = try sandbox.records("journal/\(name)")
    try sandbox.flip("journal/\(name)", at: records[records.count - 3].lowerBound + 20)
    try sandbox.removeTree(try sandbox.directory(of: "gone"))
    let found = try sandbox.check().kinds
    let forecast = try sandbox.forecast(.deep, .safe)
    let doubtful = forecast.findings.filter { $0.kind == .entryDoubtful }
    #expect(doubtful.count == 3 && doubtful.allSatisfy(\.isException))
    #expect(forecast.report.lostEntries == 0)
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.kinds == found)
    #expect(repaired.report.lostEntries == 0)
    for kind in [FindingKind.entryDoubtful, .recordDamaged] {
      let left = repaired.unrepaired.filter { $0.kind == kind }
      #expect(!left.isEmpty)
      for finding in left { #expect(finding.outcome != .left, "\(finding)") }
    }
    #expect(try sandbox.repair(.all).report.lostEntries == 4)
    #expect(try sandbox.check(.deep).findings == [])
  }
}
