import CacheStore
import CacheSystem
import StoreChecking
import Synchronization
import Testing

@Suite struct StoreCheckerTests {
  /// Makes a store with a damage of several kinds.
  private func damaged() throws -> (CheckSandbox, RepairModel) {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.remove(try RepairCase.body(sandbox, "shared0"))
    try sandbox.remove(try RepairCase.metadata(sandbox, "single1"))
    try sandbox.append(try RepairCase.body(sandbox, "single3"), [1])
    let misplaced = try sandbox.directory(of: "single5")
    try sandbox.move(misplaced, to: misplaced + "x")
    try sandbox.write("entries/stray", [1])
    try sandbox.makeDirectory("staging/0123456789abcdef")
    return (sandbox, model)
  }

  /// Runs checks at once, and returns their errors.
  private func run(_ checkers: [StoreChecker]) throws -> [CheckError] {
    let errors = Mutex<[CheckError]>([])
    let running = Monitor(checkers.count)
    for checker in checkers {
      try startThread {
        do throws(CheckError) {
          _ = try checker.run(Listener())
        } catch { errors.withLock { $0.append(error) } }
        running.change { $0 -= 1 }
      }
    }
    running.wait { $0 == 0 ? () : nil }
    return errors.withLock { $0 }
  }

  private func checker(_ sandbox: CheckSandbox, _ repair: RepairLevel?) -> StoreChecker {
    StoreChecker(
      at: sandbox.root, options: CheckOptions(depth: .deep, repair: repair, jobs: 2))
  }

  @Test(arguments: [[.all, .all], [.safe, .all], [.all, nil, nil]] as [[RepairLevel?]])
  func `repairs and checks at once do not disturb each other`(levels: [RepairLevel?]) throws {
    let (sandbox, model) = try damaged()
    #expect(try run(levels.map { checker(sandbox, $0) }) == [])
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `a check that is cancelled before it begins finds nothing, and stays cancelled`()
    throws
  {
    let (sandbox, _) = try damaged()
    try sandbox.remove("store.json")
    try sandbox.remove("CACHEDIR.TAG")
    let before = try sandbox.allFiles()
    let checker = checker(sandbox, .all)
    checker.cancel()
    for _ in 0..<2 {
      let listener = Listener()
      let error = #expect(throws: CheckError.self) { try checker.run(listener) }
      #expect(error?.code == .cancelled)
      #expect(listener.findings.allSatisfy { $0.outcome != .repaired })
    }
    #expect(try sandbox.names("quarantine").isEmpty)
    // The directory of the store stays as it is, too.
    #expect(try sandbox.allFiles() == before)
  }

  @Test func `a check can be run again, and finds the same`() throws {
    let (sandbox, _) = try damaged()
    let checker = checker(sandbox, nil)
    var found: [Set<Finding>] = []
    for _ in 0..<2 {
      let listener = Listener()
      _ = try checker.run(listener)
      found.append(Set(listener.findings))
    }
    #expect(found[0] == found[1] && !found[0].isEmpty)
  }
}
