import CommandLineTools
import Testing

@testable import StoreChecking
@testable import cachefsck

@Suite struct TextReportTests {
  /// The report of a check that found this; `words` is the command line.
  private func lines(_ words: [Argument], _ findings: [Finding], earlier: Tally = [:]) throws
    -> [String]
  {
    guard case .run(let invocation) = try Declarations.tool.parse(words) else { return [] }
    let request = try CheckRequest(invocation)
    let state = ResumeState(
      storeID: "", depth: request.depth, saved: 0,
      progress: CheckProgress(
        entries: 0, totalEntries: 0, bytes: 0, totalBytes: 0, shards: [1, 2]), tally: earlier)
    var verdict = Verdict(
      argument: invocation[Declarations.paths][0], request: request,
      earlier: earlier.isEmpty ? nil : state)
    let watcher = Watcher(
      StoreChecker(at: "/nowhere"), line: ProgressLine(total: nil, isEnabled: false), json: nil
    ) { _, _ throws(StateFile.Problem) in }
    for finding in findings { watcher.found(finding) }
    verdict.take(watcher)
    return TextReport(verdict: verdict, hasTitle: false).lines
  }

  private func finding(
    _ kind: FindingKind, _ path: String = "entries/3f/a", _ outcome: Finding.Outcome = .left
  ) -> Finding {
    Finding(kind, path: Array(path.utf8), detail: "a detail", outcome: outcome)
  }

  @Test func `the worst kinds stand first and in one place each`() throws {
    let lines = try lines(
      ["s"], [finding(.tagWrong), finding(.bodyWrong), finding(.wrongMode), finding(.bodyWrong)])
    let heads = lines.filter {
      $0.hasPrefix("note ") || $0.hasPrefix("fault ") || $0.hasPrefix("damage ")
    }
    #expect(
      heads.map { $0.prefix { $0 != ":" } } == [
        "damage body-wrong", "fault wrong-mode", "note tag-wrong",
      ])
    #expect(lines.filter { $0 == "  entries/3f/a: a detail" }.count == 4)
    #expect(lines.contains("  --repair safe: Written again."))
    #expect(lines.contains("s: 4 findings, 0 repaired, 4 left (quick check)"))
    #expect(lines.contains("body-wrong  damage        2         0     2"))
  }

  @Test func `what is more than can be read is counted`() throws {
    let many = (0..<25).map { finding(.foreignFile, "entries/x\($0)") }
    let lines = try lines(["s"], many, earlier: [.foreignFile: .init(found: 3, repaired: 0)])
    #expect(lines.filter { $0.hasPrefix("  entries/x") }.count == Watcher.shownOfKind)
    #expect(lines.contains("  3 in the part that was checked earlier"))
    #expect(lines.contains("  and 5 more; --json prints all"))
    #expect(lines.contains("s: 28 findings, 0 repaired, 28 left (quick check)"))
    #expect(lines.contains("2 of 256 shards were checked earlier"))
  }

  @Test func `each finding says what became of it`() throws {
    let findings = [
      finding(.tagWrong, "a", .repaired), finding(.tagWrong, "b", .failed("no room")),
      finding(.bodyWrong, "c"),
    ]
    let safe = try lines(["--repair", "safe", "s"], findings)
    #expect(safe.contains("  a: a detail: repaired"))
    #expect(safe.contains("  b: a detail: not repaired: no room"))
    #expect(safe.contains("  c: a detail: left"))
    let dry = try lines(
      ["--repair", "safe", "--dry-run", "s"], [finding(.tagWrong), finding(.bodyWrong)])
    #expect(dry.contains("  entries/3f/a: a detail: would be repaired"))
    #expect(dry.contains("  entries/3f/a: a detail: left"))
    #expect(
      dry.contains(
        "s: 2 findings, 1 would be repaired, 1 left (deep check, repair safe, dry run)"))
    #expect(dry.contains("tag-wrong   note          1           1     0"))
    var restorable = finding(.bodyMissing, "e")
    restorable.isException = true
    let restoring = try self.lines(
      ["--repair", "safe", "--dry-run", "s"], [restorable, finding(.bodyMissing, "f")])
    #expect(restoring.contains("  e: a detail: would be repaired"))
    #expect(restoring.contains("  f: a detail: left"))
    #expect(restoring.contains { $0.hasPrefix("s: 2 findings, 1 would be repaired, 1 left (") })
    #expect(restoring.contains { $0.contains("--repair safe s' repairs 1, and loses nothing") })
    #expect(restoring.contains { $0.contains("--repair all s' repairs 1 as well") })
    var copy = finding(.entryMisplaced, "g")
    copy.isException = true
    let leaving = try self.lines(
      ["--repair", "safe", "--dry-run", "s"], [copy, finding(.entryMisplaced, "h")])
    #expect(leaving.contains("  g: a detail: left"))
    #expect(leaving.contains("  h: a detail: would be repaired"))
    #expect(leaving.contains { $0.hasPrefix("s: 2 findings, 1 would be repaired, 1 left (") })
    #expect(leaving.contains { $0.contains("--repair safe s' repairs 1, and loses nothing") })
    #expect(leaving.contains { $0.contains("--repair all s' repairs 1 as well") })
    var lost = finding(.bodyWrong, "d")
    lost.lostEntries = 2
    let all = try self.lines(["--repair", "all", "--dry-run", "s"], [finding(.bodyWrong), lost])
    #expect(all.contains("  entries/3f/a: a detail: would be repaired"))
    #expect(all.contains("  d: a detail: 2 entries would be lost"))
    #expect(all.contains { $0.hasPrefix("2 entries would be lost: nothing could restore them.") })
  }

  @Test(
    arguments: [
      (["s"], ["'cachefsck --repair safe s' repairs 1", "'cachefsck --repair all s' repairs 1"]),
      (
        ["--repair", "safe", "s"],
        ["'cachefsck --repair all s' repairs 1", "1 could not be repaired: try --repair all"]
      ),
      (["--repair", "all", "s"], ["2 could not be repaired"]),
      (["--repair", "all", "-n", "s t"], ["--repair safe PATH'", "--repair all PATH'"]),
      (["--deep", "--", "-s"], ["--repair safe PATH'", "--repair all PATH'"]),
    ] as [([String], [String])])
  func `the end says what to do next`(words: [String], advice: [String]) throws {
    let lines = try lines(
      words.map { Argument($0) },
      [finding(.tagWrong), finding(.bodyWrong), finding(.wrongOwner), finding(.newerFormat)])
    for part in advice { #expect(lines.contains { $0.contains(part) }, "\(part)") }
    #expect(lines.contains { $0.hasPrefix("1 no repair can mend") })
    #expect(lines.contains("  Repair: None: use that version."))
    #expect(lines.contains { $0.hasPrefix("1 belongs to another user") })
    #expect(lines.contains { $0.contains("--deep") } == (words == ["s"]))
  }

  @Test func `a safe repair that gives up what is not served says so`() throws {
    let lines = try lines(["s"], [finding(.entryDoubtful), finding(.recordDamaged)])
    #expect(
      lines.contains(
        "'cachefsck --repair safe s' repairs 2, and loses nothing that is still served."))
  }

  @Test func `what cannot be read may be mended by a repair of modes`() throws {
    let lines = try lines(["s"], [finding(.unreadable), finding(.wrongMode)])
    #expect(lines.contains { $0.hasPrefix("1 cannot be read: check again when") })
    #expect(!lines.contains { $0.contains("no repair can mend") })
    let alone = try self.lines(["s"], [finding(.unreadable)])
    #expect(alone.contains { $0.hasPrefix("1 no repair can mend") })
  }

  @Test func `names and keys cannot steer a terminal`() throws {
    let hostile = Array("a\u{1B}[2J\n\u{202E}b".utf8) + [0xFF, 0x9B]
    var finding = Finding(.foreignFile, path: hostile, key: hostile, detail: "x\u{7}\u{1B}c")
    finding.outcome = .failed("y\u{1B}]0;z\u{7}")
    let line = try lines(["--repair", "all", Argument(bytes: hostile)], [finding])
    let escaped = "a\\x1b[2J\\n\\u{202e}b\\xff\\x9b"
    #expect(
      line.contains(
        "  \(escaped): x\\x07\\x1bc (key \(escaped)): not repaired: y\\x1b]0;z\\x07"))
    #expect(line.contains { $0.hasPrefix("\(escaped): 1 finding, ") })
    for line in line { #expect(line.unicodeScalars.allSatisfy { $0.value >= 32 }) }
  }

  @Test func `a long key is cut`() throws {
    var long = finding(.bodyWrong)
    long.key = [UInt8](repeating: UInt8(ascii: "k"), count: 65_536)
    #expect(try lines(["s"], [long]).allSatisfy { $0.count < 300 })
  }
}
