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
}
