import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

@Suite struct RepairRunTests {
  @Test("what is damaged is repaired, and all else is kept", arguments: RepairCase.all)
  func repair(damage: RepairCase) throws {
    for level in RepairLevel.allCases {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel()
      #expect(try sandbox.check(.deep).findings == [])
      try damage.damage(sandbox)
      let forecast = try sandbox.forecast(damage.depth)
      let repaired = try sandbox.repair(level, damage.depth)
      #expect(Set(repaired.kinds).subtracting(damage.also) == damage.kinds, "\(level)")
      let survivors = model.all.filter { !damage.lost.contains($0.key) }
      let again = try sandbox.check(.deep)
      if level == .all || damage.level == .safe {
        #expect(repaired.unrepaired == [], "\(level)")
        #expect(again.findings == [], "\(level)")
        let kept = try sandbox.kept(model)
        #expect(kept.isSuperset(of: survivors), "\(level)")
        #expect(repaired.report.lostEntries == model.all.count - kept.count, "\(level)")
        // Entries under another name are missing where they belong.
        if !damage.kinds.contains(.entryMisplaced) {
          #expect(forecast.report.lostEntries == repaired.report.lostEntries)
        }
      } else {
        #expect(!again.findings.isEmpty)
        #expect(
          repaired.findings.allSatisfy {
            $0.outcome != .repaired || $0.kind.facts.repairedBy == .safe
          })
      }
    }
  }

  @Test(arguments: ["shared1", "shared2"] as [ByteString])
  func `a quick repair keeps what a deep one needs to recover a body`(key: ByteString) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let path = try RepairCase.body(sandbox, key)
    let bytes = try sandbox.bytes(path)
    try sandbox.remove(path)
    try sandbox.write(path, bytes.dropLast() + [bytes[bytes.count - 1] ^ 1])
    _ = try sandbox.repair(.safe, .quick)
    #expect(try sandbox.repair(.safe, .deep).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model).isSuperset(of: model.all))
  }

  @Test func `what is missing is given up after a pass in which nothing fails any more`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.removeTree(try sandbox.directory(of: "single2"))
    try sandbox.write("\(try sandbox.directory(of: "single3"))/stray", [1])
    let (files, calls) = (FaultyFiles(), CallCounter())
    files.faults.set { call in
      let isFirst = call.kind == .rename && call.name == "stray" && calls.next() == 0
      return isFirst ? SystemError(ENOSPC) : nil
    }
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(repaired.report.left == 0 && repaired.report.lostEntries == 1)
    #expect(repaired.unrepaired == [] && repaired.kinds == [.entryMissing, .foreignFile])
    #expect(repaired.findings.reduce(0) { $0 + $1.lostEntries } == 1)
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model).count == model.all.count - 1)
  }

  @Test func `the bytes of a damaged entry are kept in the quarantine`() throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let path = try RepairCase.body(sandbox, "single2")
    try sandbox.cut(path, by: 3)
    let bytes = try sandbox.bytes(path)
    _ = try sandbox.repair()
    let place = "quarantine/\(try sandbox.names("quarantine")[0])"
    let names = try sandbox.names(place)
    #expect(names.contains("note.txt") && names.contains("0000000000000000.json"))
    let body = try #require(names.first { $0.hasSuffix(".body") })
    #expect(try sandbox.bytes("\(place)/\(body)") == bytes)
  }

  @Test func `findings of one kind and path count once each in all passes`() {
    let listener = Listener()
    let told = ToldFindings(listener)
    func find(_ outcome: Finding.Outcome, _ count: Int) {
      for place in 0..<count {
        told.found(
          Finding(
            .recordDamaged, path: Array("journal/00000001.log".utf8), detail: "byte \(place)",
            outcome: outcome))
      }
    }
    find(.failed("no room"), 3)
    told.beginPass()
    // One more, and all fail.
    find(.failed("no room"), 4)
    told.endPass(isPartial: false)
    #expect(told.counts[.recordDamaged] == .init(found: 4, repaired: 0))
    told.beginPass()
    // Two are repaired, and two are gone.
    find(.repaired, 2)
    told.endPass(isPartial: false)
    #expect(told.counts[.recordDamaged] == .init(found: 4, repaired: 4))
    #expect(listener.findings.count == 4)
  }

  @Test func `what a later pass could not look at is not repaired`() {
    let told = ToldFindings(Listener())
    told.find(.bodyWrong, "entries/3f/a")
    told.find(.bodyWrong, "entries/40/b")
    told.beginPass()
    told.find(.unreadable, "entries/3f")
    told.endPass(isPartial: false)
    #expect(told.counts[.bodyWrong] == .init(found: 2, repaired: 1))
    told.beginPass()
    told.endPass(isPartial: true)
    #expect(told.counts[.bodyWrong] == .init(found: 2, repaired: 1))
    told.beginPass()
    told.find(.bodyWrong, "entries/3f/a")
    told.endPass(isPartial: false)
    #expect(told.counts[.bodyWrong] == .init(found: 2, repaired: 1))
    #expect(told.counts[.unreadable] == .init(found: 1, repaired: 1))
  }

  @Test func `ten thousand foreign files are moved with one note`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    for number in 0..<10_000 { try sandbox.write("\(directory)/stray\(number)", []) }
    let repaired = try sandbox.repair()
    #expect(repaired.unrepaired == [])
    #expect(try sandbox.names("quarantine").count == 1)
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `what is outside of the shards and could not be looked at again is not repaired`() {
    let told = ToldFindings(Listener())
    told.find(.recordDamaged, "journal/00000001.log")
    told.find(.stagingLeft, "staging/0123456789abcdef")
    told.beginPass()
    told.find(.unreadable, "journal")
    told.find(.unreadable, "stag")
    told.endPass(isPartial: false)
    #expect(told.counts[.recordDamaged] == .init(found: 1, repaired: 0))
    #expect(told.counts[.stagingLeft] == .init(found: 1, repaired: 1))
  }

  @Test func `a journal that could be neither renewed nor read again is not repaired`() throws {
    var failures = 0
    for place in 0..<100 {
      let sandbox = CheckSandbox()
      _ = try sandbox.fillModel()
      try sandbox.flip("journal/00000001.log", at: 2000)
      let (files, seen) = (FaultyFiles(), CallCounter())
      files.faults.set { call in
        guard call.isChange || call.kind == .open && call.name == "journal" else { return nil }
        return seen.next() >= place ? .inputOutput : nil
      }
      guard let repaired = try? sandbox.repair(.all, fileSystem: files) else { continue }
      if seen.value <= place { break }
      let found = repaired.findings.filter { $0.kind == .recordDamaged }
      guard try sandbox.check().kinds.contains(.recordDamaged) else { continue }
      failures += 1
      #expect(found.allSatisfy { $0.outcome != .repaired }, "\(place)")
    }
    #expect(failures > 0)
  }
}

extension ToldFindings {
  fileprivate func find(_ kind: FindingKind, _ path: String) {
    found(Finding(kind, path: Array(path.utf8), detail: ""))
  }
}
