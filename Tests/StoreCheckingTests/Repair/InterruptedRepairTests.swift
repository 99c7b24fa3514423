import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// A repair that ends, or is let down by the disk, at each of its changes of the disk.
@Suite(.serialized) struct InterruptedRepairTests {
  /// Whether this is the long run.
  private static let isFull = unsafe getenv("OFFLINECACHE_REPAIR_SEEDS") != nil

  /// A store with a damage of each kind that takes several steps.
  private func damaged(_ losesJournal: Bool) throws -> (CheckSandbox, RepairModel) {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.cut(try RepairCase.body(sandbox, "single2"), by: 1)
    try sandbox.append(try RepairCase.body(sandbox, "single3"), [1])
    try sandbox.remove(try RepairCase.body(sandbox, "shared0"))
    try sandbox.remove(try RepairCase.metadata(sandbox, "shared1"))
    let misplaced = try sandbox.directory(of: "single5")
    try sandbox.move(misplaced, to: misplaced + "x")
    try sandbox.write("entries/stray", [1])
    if losesJournal {
      try sandbox.flip("journal/00000001.log", at: 500)
      try sandbox.remove("store.json")
    }
    return (sandbox, model)
  }

  private func files(_ fault: CountedFault) -> FaultyFiles {
    let files = FaultyFiles()
    files.faults.set { fault.check($0) }
    return files
  }

  @Test(
    "a repair that is interrupted loses nothing, and the next one finishes the work",
    arguments: [(true, .inputOutput), (false, .inputOutput), (false, SystemError(ENOSPC))],
    [false, true])
  func interrupted(fault: (ends: Bool, error: SystemError), losesJournal: Bool) throws {
    // Every change in a long run; in a short one some of them, others for each effect.
    let step = Self.isFull ? 1 : fault.ends ? 5 : 13
    for number in stride(from: 0, to: 2000, by: step) {
      let (sandbox, model) = try damaged(losesJournal)
      let strike = CountedFault(after: number, ends: fault.ends, fault.error, \.isChange)
      _ = try? sandbox.repair(fileSystem: files(strike))
      let survivors = model.all.filter { $0.key != "single2" }
      let words = "\(fault) at \(number), journal lost: \(losesJournal)"
      let last = try sandbox.repair()
      #expect(last.unrepaired == [], "\(words)")
      let left = try sandbox.check(.deep).findings
      #expect(left == [], "\(words): \(left), the last one found \(last.findings)")
      let lost = survivors.subtracting(try sandbox.kept(model))
      #expect(lost == [], "\(words)")
      if !strike.hasStruck {
        #expect(number > 20)
        return
      }
    }
  }

  /// The first repair gives the entry up as missing, ends, and leaves its session.
  @Test func `an entry that was given up as missing is taken up where it is found`() throws {
    let (sandbox, model) = try damaged(true)
    for place in stride(from: 20, to: 36, by: 1) {
      let strike = CountedFault(after: place, ends: true, .inputOutput, \.isChange)
      _ = try? sandbox.repair(fileSystem: files(strike))
    }
    _ = try sandbox.repair()
    #expect(try sandbox.kept(model).contains(RepairModel.Place(key: "single5", variant: 0)))
  }

  @Test func `an entry whose record was purged is taken up where it is found`() throws {
    for number in 0..<2000 {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel()
      _ = try sandbox.forget("single5")
      try sandbox.move("../away", to: "entries/read first")
      let strike = CountedFault(after: number, ends: true, .inputOutput, \.isChange)
      _ = try? sandbox.repair(.safe, fileSystem: files(strike))
      // The rest of a folder from which the entry was moved is foreign.
      let left = Set(try sandbox.repair(.safe).unrepaired.map(\.kind))
      #expect(left.isSubset(of: [.foreignFile]), "\(number)")
      #expect(try sandbox.kept(model) == model.all, "\(number)")
      if !strike.hasStruck {
        #expect(number > 5)
        return
      }
    }
  }
}
