import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import StoreChecking
import TestSupport
import Testing

/// Damage of every kind is repaired at both levels. Whatever a repair says is left, no more and no less,
/// is what the next check finds.
@Suite(.serialized) struct MenderTests {
  /// A finding without what became of it.
  private struct Name: Hashable, CustomStringConvertible {
    var kind: FindingKind
    var path: String
    var description: String { "\(kind.rawValue) \(path)" }

    init(_ finding: Finding) {
      kind = finding.kind
      path = String(decoding: finding.path, as: UTF8.self)
    }
  }

  /// Damages a store, repairs it, and holds the next check against what the repair said.
  ///
  /// - Returns: the kinds that were found.
  private func hold(
    _ words: String, _ level: RepairLevel, _ depth: CheckDepth = .deep,
    files: any FileSystem = RealFileSystem(),
    _ damage: (CheckSandbox) throws -> Void
  ) throws -> Set<FindingKind> {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    try damage(sandbox)
    let before = try sandbox.check(depth, fileSystem: files)
    let repaired = try sandbox.repair(level, depth, fileSystem: files)
    let after = try sandbox.check(depth, fileSystem: files)
    let said = Set(repaired.unrepaired.map(Name.init))
    let found = Set(after.findings.map(Name.init))
    #expect(found.isSubset(of: said), "\(words), \(level): found \(found), said \(said)")
    #expect(repaired.report.left == after.report.found, "\(words), \(level): \(said), \(found)")
    let again = try sandbox.repair(level, depth, fileSystem: files)
    #expect(again.report.repaired == 0, "\(words), \(level): \(again.findings)")
    return Set(before.kinds).union(repaired.kinds)
  }

  @Test(arguments: RepairLevel.allCases)
  func `what a repair leaves is what the next check finds`(_ level: RepairLevel) throws {
    var kinds: Set<FindingKind> = []
    for damage in RepairCase.all + RepairCase.others {
      let found = try hold(damage.description, level, damage.depth, damage.damage)
      #expect(found.isSuperset(of: damage.kinds), "\(damage): \(found)")
      kinds.formUnion(found)
    }
    let unreadable = FaultyFiles()
    unreadable.faults.set {
      $0.options == [.read] && $0.name.hasSuffix("0.json") ? .inputOutput : nil
    }
    kinds.formUnion(
      try hold("a metadata file that cannot be read", level, files: unreadable) { _ in })
    // Only root can give a file to somebody else.
    if geteuid() != 0 { kinds.insert(.wrongOwner) }
    let missing = Set(FindingKind.allCases).subtracting(kinds)
    #expect(missing.isEmpty, "\(missing)")
  }

  @Test(arguments: RandomDamage.allCases, RepairLevel.allCases)
  func `random damage leaves what the repair says`(
    _ damage: RandomDamage, _ level: RepairLevel
  ) throws {
    for seed in 0..<3 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      _ = try hold("\(damage) with seed \(seed)", level) { sandbox in
        try sandbox.write("../canary", [42])
        _ = try damage.apply(sandbox, &random)
      }
    }
  }
}

extension RepairCase {
  private static let segment = "journal/00000001.log"

  /// Gives the last record of the journal another sequence number.
  private static func renumberLast(_ sandbox: CheckSandbox, by change: (UInt64) -> UInt64) throws {
    var bytes = try sandbox.bytes(segment)
    guard case .header(let header) = SegmentHeader.read(bytes) else { return }
    let range = try #require(try sandbox.records(segment).last)
    var record = Array(bytes[range])
    let number = (0..<8).reduce(UInt64(0)) { $0 | UInt64(record[16 + $1]) << (8 * UInt64($1)) }
    RecordFrame.place(
      &record, sequence: change(number),
      seed: RecordFrame.seed(
        hashSeed: header.hashSeed, segment: 1, offset: UInt64(range.lowerBound)))
    bytes.replaceSubrange(range, with: record)
    try sandbox.write(segment, bytes)
  }

  /// Changes the text of a metadata file and seals it again.
  static func edit(
    _ sandbox: CheckSandbox, _ name: String, _ change: (String) -> String
  ) throws {
    let seed = try StoreDescription(decoding: try sandbox.bytes("store.json")).hashSeed
    let text = change(String(decoding: try sandbox.bytes(name), as: UTF8.self))
    let covered = Array(text.utf8.dropLast(36))
    let sum = Hexadecimal.string(Checksum.of(covered, seed: seed))
    try sandbox.write(name, covered + Array(",\n \"checksum\": \"\(sum)\"\n}\n".utf8))
  }

  /// Kinds that the other cases do not have.
  static let others = [
    RepairCase(description: "a file of another user", kinds: geteuid() == 0 ? [.wrongOwner] : []) {
      if geteuid() == 0 { try $0.setOwner(try metadata($0, "single2"), 1) }
    },
    RepairCase(description: "a clock that was wrong", kinds: [.timeImplausible]) { sandbox in
      let then = SystemClock().now() + 172_800_000_000_000
      try sandbox.fill(Options(clock: TestClock(then))) {
        try $0.put([1], for: "later")
      }
    },
    RepairCase(description: "metadata of a newer version", kinds: [.newerFormat]) { sandbox in
      try edit(sandbox, try metadata(sandbox, "single2")) {
        $0.replacing("\"format\": 1,", with: "\"format\": 3,")
      }
    },
    RepairCase(description: "nothing that tells the seed", kinds: [.seedLost]) { sandbox in
      try sandbox.remove("store.json")
      try sandbox.remove(segment)
      for name in try sandbox.files(".json") { try sandbox.remove(name) }
    },
    RepairCase(description: "a torn record", kinds: [.journalTorn]) { sandbox in
      try sandbox.append(segment, [1, 2, 3, 4, 5, 6, 7, 8])
      try sandbox.makeDirectory("staging/0123456789abcdef")
    },
    RepairCase(description: "a journal without its end", kinds: [.journalShort]) { sandbox in
      try sandbox.cut(segment, by: try #require(try sandbox.records(segment).last).count)
    },
    RepairCase(description: "a record left out", kinds: [.recordOutOfSequence]) {
      try renumberLast($0) { $0 + 1 }
    },
    RepairCase(description: "a record twice", kinds: [.recordDuplicate]) {
      try renumberLast($0) { $0 - 1 }
    },
    RepairCase(description: "an entry that comes back", kinds: [.entryReturned]) { sandbox in
      let directory = try sandbox.directory(of: "single2")
      try sandbox.move(directory, to: "../away")
      _ = try sandbox.repair(.all)
      try sandbox.move("../away", to: directory)
    },
    RepairCase(description: "a damage after entries in the log", kinds: [.entryDoubtful]) {
      try $0.kill { store in
        // The journal was begun by a store without a log, so the first one gets files.
        for number in 0..<4 { try store.put([UInt8(number)], for: ByteString("logged\(number)")) }
      }
      let names = try $0.names("journal").filter { $0.hasSuffix(".log") }
      let newest = "journal/\(try #require(names.max()))"
      let records = try $0.records(newest)
      try $0.flip(newest, at: records[records.count - 2].lowerBound + 20)
    },
    RepairCase(description: "older metadata", kinds: [.metadataDiffers]) { sandbox in
      let name = try metadata(sandbox, "single2")
      let old = try sandbox.bytes(name)
      try sandbox.fill { _ = try $0.pin("single2") }
      try sandbox.write(name, old)
    },
    RepairCase(description: "bytes counted wrongly", kinds: [.usageWrong]) { sandbox in
      let long = String(repeating: "a", count: 5000)
      try sandbox.fill { store in
        try store.update("single2") { $0.userInfo = [Field("x", ByteString(long))] }
      }
      try edit(sandbox, try metadata(sandbox, "single2")) { $0.replacing(long, with: "a") }
    },
  ]
}

extension CheckSandbox {
  /// Changes the store, and leaves it as a process does that is killed then: what was stored is in the log.
  func kill(_ change: (Store) throws -> Void) throws {
    let store = try Store(at: root, options: Options(settling: .within(seconds: 3_600)))
    try change(store)
    try FileManager.default.copyItem(atPath: root, toPath: path + "/killed")
    store.close()
    try FileManager.default.removeItem(atPath: root)
    try FileManager.default.moveItem(atPath: path + "/killed", toPath: root)
  }

  func setOwner(_ name: String, _ user: UInt32) throws {
    let result = unsafe chown(inside(name), user, gid_t.max)
    try #require(result == 0, "\(name): errno \(errno)")
  }
}
