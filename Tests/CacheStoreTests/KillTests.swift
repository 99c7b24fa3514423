import Foundation
import TestSupport
import Testing

/// Processes that write are killed at random moments; what they had promised must be there, and
/// nothing else. The lines of `storeprobe` say what was tried and promised.
@Suite(.timeLimit(.minutes(20))) struct KillTests {
  static let rounds = TestScale.isFull ? 200 : 25

  /// Runs a workload and kills it at a moment that the seed decides.
  ///
  /// - Returns: whether it was still running.
  private func killWorkload(
    _ store: String, output: String, seed: UInt64, threads: Int, isFull: Bool
  ) throws -> Bool {
    var random = SplitMix64(seed: seed)
    let options = isFull ? ["--full"] : []
    // Early moments are the interesting ones: the store is being made, or was just opened.
    let isEarly = random.next() % 3 == 0
    let place = ["", "/journal", "/entries", "/staging"][random.below(4)]
    return try ProbeProcess.kill(
      options + [store, "workload", "100000", "\(seed)", "\(threads)"], output: output,
      afterBytes: !isEarly ? random.below(isFull ? 10_000 : 60_000) : random.below(2) * 100,
      whenThereIs: store + place)
  }

  @Test(
    .enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing),
    arguments: 0..<KillTests.rounds)
  func `what was promised survives a kill at any moment`(round: Int) throws {
    let seed = UInt64(round) &* 7919 + 17
    print("kill round \(round), seed \(seed)")
    let sandbox = StoreSandbox()
    let acks = sandbox.path + "/acks"
    let wasRunning = try killWorkload(
      sandbox.root, output: acks, seed: seed, threads: round % 2 == 0 ? 1 : 3,
      isFull: round % 4 >= 2)
    #expect(wasRunning)
    try verify(sandbox, acks, "seed \(seed)")
  }

  @Test(
    .enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing), arguments: [1, 3])
  func `a store that is killed again and again keeps its promises`(threads: Int) throws {
    let sandbox = StoreSandbox()
    let acks = sandbox.path + "/acks"
    for round in 0..<(KillTests.rounds / 3) {
      let seed = UInt64(round * 31 + threads)
      print("kill again round \(round), seed \(seed)")
      let wasRunning = try killWorkload(
        sandbox.root, output: acks, seed: seed, threads: threads, isFull: round % 5 == 4)
      #expect(wasRunning)
      // Not always looked after in between: what one kill leaves must survive the next one.
      if round % 3 == 2 { try verify(sandbox, acks, "seed \(seed)") }
    }
    try verify(sandbox, acks, "at the end")
  }

  /// Holds the store against its promises and looks for what a clean-up must not have left.
  private func verify(_ sandbox: StoreSandbox, _ acks: String, _ what: Comment) throws {
    let verdict = sandbox.path + "/verdict"
    let code = try ProbeProcess.run([sandbox.root, "verify", acks], output: verdict)
    let said = (try? String(contentsOfFile: verdict, encoding: .utf8)) ?? ""
    #expect(code == 0, "\(what): \(said)")
    #expect(sandbox.sessions == [], what)
    #expect(sandbox.quarantined == [], what)
    // Each metadata file has its body, each body its metadata, and no directory is empty.
    let entries = sandbox.tree("entries")
    let directories = Set(
      entries.keys.filter { $0.split(separator: "/").count == 3 })
    let bodies = sandbox.bodies.map { String($0.dropLast(38)) }
    let metadata = sandbox.metadataFiles.map { String($0.dropLast(22)) }
    #expect(Set(bodies) == directories, what)
    #expect(bodies.count == directories.count, what)
    #expect(metadata.sorted() == directories.sorted(), what)
  }

  @Test(.enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing))
  func `what a killed process left is gone once the store is idle again`() throws {
    let sandbox = StoreSandbox()
    let acks = sandbox.path + "/acks"
    // Killed with files in staging and orphans in the tree, or these are planted below.
    #expect(
      try ProbeProcess.kill(
        [sandbox.root, "workload", "100000", "5", "3"], output: acks, afterBytes: 5_000))
    let session = try #require(sandbox.sessions.first)
    let files = FileManager.default
    #expect(
      files.createFile(
        atPath: sandbox.inside("staging/\(session)/00000000000000ff"), contents: Data([1])))
    let shard = sandbox.inside("entries/00/00000000000000000000000000000a")
    try files.createDirectory(atPath: shard, withIntermediateDirectories: true)
    #expect(
      files.createFile(
        atPath: shard + "/0000000000000000000000000000000b.body", contents: Data([1])))
    try verify(sandbox, acks, "planted leftovers")
    #expect(FileFacts(shard) == nil)
  }
}
