import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

@Suite struct StagingCheckTests {
  @Test func `what a killed process left is found`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.makeDirectory("staging/0123456789abcdef")
    try sandbox.write("staging/0123456789abcdef/1", [1])
    try sandbox.write("store.json.new", [1])
    try sandbox.write("journal/new", [1])
    let checked = try sandbox.check()
    #expect(
      checked.paths(.stagingLeft) == ["journal/new", "staging/0123456789abcdef", "store.json.new"])
    #expect(checked.findings.count == 3)
  }

  @Test func `a directory of sessions that cannot be listed is told, and explains a torn journal`()
    throws
  {
    let sandbox = try CheckSandbox.withOneEntry()
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == "staging" ? .inputOutput : nil }
    #expect(try sandbox.check(fileSystem: files).paths(.unreadable) == ["staging"])
    try sandbox.makeDirectory("staging/0123456789abcdef")
    try sandbox.append("journal/00000001.log", [1, 2, 3])
    #expect(try sandbox.check(fileSystem: files).kinds == [.journalTorn, .unreadable])
    #expect(try sandbox.check().kinds == [.journalTorn, .stagingLeft])
  }

  @Test func `a directory of sessions that cannot be opened is told`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let files = FaultyFiles()
    files.faults.set { $0.kind == .open && $0.name == "staging" ? .inputOutput : nil }
    #expect(try sandbox.check(fileSystem: files).paths(.unreadable) == ["staging"])
  }

  @Test func `a session that cannot be opened is told`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.makeDirectory("staging/0123456789abcdef")
    let files = FaultyFiles()
    files.faults.set { $0.kind == .open && $0.name == "0123456789abcdef" ? .inputOutput : nil }
    #expect(
      try sandbox.check(fileSystem: files).paths(.unreadable) == ["staging/0123456789abcdef"])
  }
}
