import CLibrary
import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import StoreChecking
import Testing

@testable import CacheStore

/// Repairs of stores in which processes were killed.
@Suite struct UncleanRepairTests {
  /// One file has the first number after the journal's end, as a killed process leaves it.
  @Test(arguments: [false, true])
  func `files are judged after all keys were seen`(isRepaired: Bool) throws {
    let sandbox = CheckSandbox()
    var segment = ""
    var journal: [UInt8] = []
    var keys: [ByteString] = []
    try sandbox.fill { store in
      try store.put([0], for: "first")
      keys = (0..<12).map { ByteString("k\($0)") }.sorted {
        Layout.shardNumber(of: store.catalog.hash($0))
          < Layout.shardNumber(of: store.catalog.hash($1))
      }
      segment = "journal/" + (try #require(try sandbox.names("journal").last))
      journal = try sandbox.bytes(segment)
      for (number, key) in keys.enumerated() {
        try store.put([UInt8](repeating: UInt8(number), count: 9_000), for: key)
      }
    }
    try sandbox.write(segment, journal)
    try sandbox.remove("lock")
    try sandbox.makeDirectory("staging/00000000000000aa")
    if isRepaired { _ = try sandbox.repair(.safe) }
    let store = try Store(at: sandbox.root, options: Options())
    store.waitUntilIdle()
    for (number, key) in keys.enumerated() {
      #expect(
        store.lookUp(key).entry?.body == [UInt8](repeating: UInt8(number), count: 9_000),
        "\(number)")
    }
    store.close()
  }

  @Test(arguments: [false, true], [false, true])
  func `a directory that its owner cannot open keeps no repair`(
    isShard: Bool, hasDeadSession: Bool
  ) throws {
    let sandbox = CheckSandbox()
    var path = ""
    try sandbox.fill { store in
      for number in 0..<8 {
        try store.put([UInt8](repeating: 1, count: 9_000), for: ByteString("\(number)"))
      }
      path = "entries/\(Layout.keyPath(store.catalog.hash("3")).text)"
      if isShard { path = path.split(separator: "/").dropLast().joined(separator: "/") }
    }
    if hasDeadSession { try sandbox.makeDirectory("staging/00000000000000aa") }
    let blocked = "\(sandbox.root)/\(path)"
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: blocked)
    // Root may open it all the same.
    let files = FaultyFiles()
    files.faults.set { call in
      guard call.kind == .open, blocked.hasSuffix("/\(call.name)") else { return nil }
      let mode = try? FileManager.default.attributesOfItem(atPath: blocked)[.posixPermissions]
      return mode as? Int == 0 ? SystemError(EACCES) : nil
    }
    let kinds = Set(try sandbox.check(fileSystem: files).kinds)
    #expect(kinds.subtracting([.stagingLeft]) == [.wrongMode])
    #expect(try sandbox.repair(.safe, fileSystem: files).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test(arguments: RepairLevel.allCases)
  func `beside a directory that cannot be read, all else is repaired, and nothing removed`(
    _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let name = try sandbox.directory(of: "single5").suffix(30)
    let directory = try sandbox.forget("single2")
    try sandbox.move("../away", to: directory)
    let metadata = try RepairCase.metadata(sandbox, "single3")
    try sandbox.remove(metadata)
    try sandbox.makeDirectory("staging/00000000000000aa")
    try sandbox.write("staging/00000000000000aa/1", [1])
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == name ? .inputOutput : nil }
    let repaired = try sandbox.repair(level, fileSystem: files)
    #expect(repaired.report.partialCause == nil && !repaired.kinds.contains(.bodyOrphan))
    #expect(Set(repaired.unrepaired.map(\.kind)) == [.unreadable, .entryUnrecorded, .stagingLeft])
    #expect(try sandbox.bytes(metadata).count > 0)
    #expect(try sandbox.names(directory).count == 2)
    #expect(try sandbox.names("staging/00000000000000aa") == [])
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try sandbox.kept(model).count == model.all.count - 1)
  }

  @Test(arguments: [false, true])
  func `a removal of all entries without its record is completed`(isRepaired: Bool) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { store in
      try store.put([UInt8](repeating: 1, count: 90_000), for: "old")
    }
    var options = Options(settling: .within(seconds: 3_600))
    options.isSupervised = true
    let writer = try Store(at: sandbox.root, options: options)
    try writer.put([1], for: "old, logged")
    let end = writer.catalog.state.withLock { $0.journal.sequence }
    writer.close()
    let digits = String(end, radix: 16)
    let name = String(repeating: "0", count: 16 - digits.count) + digits + "-0000000000000001"
    try sandbox.makeDirectory("staging/00000000000000aa")
    try sandbox.move("entries", to: "staging/00000000000000aa/\(name)")
    try sandbox.makeDirectory("entries")
    if isRepaired { _ = try sandbox.repair(.safe) }
    let store = try Store(at: sandbox.root, options: Options())
    store.waitUntilIdle()
    #expect(store.lookUp("old").entry == nil)
    #expect(store.lookUp("old, logged").entry == nil)
    #expect(store.statistics.entries == 0)
    store.close()
  }
}
