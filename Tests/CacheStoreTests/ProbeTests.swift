import Testing

/// The program that others drive to find broken promises: what it calls good is good, and it sees
/// what is not.
@Suite(.enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing))
struct ProbeTests {
  let sandbox = StoreSandbox()
  var acks: String { sandbox.path + "/acks" }
  var words: String { sandbox.path + "/words" }

  private func run(_ arguments: [String], bug: String = "") throws -> Int32 {
    try ProbeProcess.run([sandbox.root] + arguments, output: words, bug: bug)
  }

  private func work(
    _ arguments: [String], bug: String = "", through wrapper: [String] = []
  ) throws -> Int32 {
    try ProbeProcess.run([sandbox.root] + arguments, output: acks, bug: bug, through: wrapper)
  }

  @Test(arguments: [["workload", "40", "1", "2"], ["churn", "120", "2", "2"]])
  func `a workload keeps its promises and leaves a store without findings`(plan: [String]) throws {
    #expect(try work(plan) == 0)
    #expect(try run(["verify", acks]) == 0)
    #expect(try run(["safe", acks]) == 0)
    #expect(try run(["scrub"]) == 0)
  }

  @Test func `damage is found, repaired, and not found again`() throws {
    #expect(try work(["workload", "20"]) == 0)
    let body = try #require(sandbox.bodies.first)
    sandbox.overwrite(body, [1, 2, 3])
    #expect(try run(["scrub"]) == 1)
    #expect(try run(["repair"], bug: "badrepair") == 0)
    #expect(try run(["scrub"]) == 1)
    #expect(try run(["repair"]) == 0)
    #expect(try run(["scrub"]) == 0)
    #expect(try run(["safe", acks]) == 0)
    #expect(try run(["verify", acks]) == 1)
  }

  @Test func `a read that checks nothing is seen`() throws {
    #expect(try work(["workload", "20"]) == 0)
    for body in sandbox.bodies where !sandbox.bytes(body).isEmpty { sandbox.flip(body, at: 0) }
    #expect(try run(["safe", acks], bug: "nocrc") == 1)
    #expect(try run(["safe", acks]) == 0)
  }

  @Test func `a promise that is made too early is seen`() throws {
    // A body that is longer than a file may be ends the process while it is written.
    let limit = ["/bin/sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"]
    #expect(try work(["workload", "9"], through: limit) != 0)
    #expect(try run(["verify", acks]) == 0)
    #expect(try work(["workload", "9", "2"], bug: "ackearly", through: limit) != 0)
    #expect(try run(["verify", acks]) == 1)
  }
}
