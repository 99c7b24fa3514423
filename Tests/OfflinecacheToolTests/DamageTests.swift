import LoopbackOrigin
import Testing
import ToolTesting

@Suite struct DamageTests {
  // Shorter bodies are in the log, and read from there.
  private static let lengths = [20_000, 3_000_000]

  /// Changes one byte in the middle of every body of a store.
  private func damageBodies(_ tool: ToolRun) throws {
    let shell = """
      for body in "$0"/entries/*/*/*.body; do
        printf '\\377' | dd of="$body" bs=1 seek=5 conv=notrunc 2>/dev/null || exit 1
      done
      """
    let status = try Child("/bin/sh", ["-c", shell, tool.store].map { Array($0.utf8) }).wait()
    #expect(status == 0)
  }

  @Test(arguments: lengths)
  func `a damaged body ends with 2 and replaces no file`(length: Int) throws {
    let tool = ToolRun()
    let body = [UInt8](repeating: 1, count: length)
    #expect(try tool.run("put", "k", "-", input: body).status == 0)
    try damageBodies(tool)
    try tool.write([9], to: tool.path("target"))
    let get = try tool.run("get", "k", "-o", tool.path("target"))
    #expect(get.status == 2)
    #expect(get.errors.hasPrefix("offlinecache: "))
    #expect(get.errors.contains("its bytes are not those that were stored"))
    #expect(try tool.read(tool.path("target")) == [9])
    #expect(try names(in: tool.folder).filter { $0.hasSuffix(".part") } == [])
  }

  @Test func `what a look-up has found damaged is to be fetched again`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [UInt8](repeating: 1, count: 20_000)).status == 0)
    let shell = #"for body in "$0"/entries/*/*/*.body; do : > "$body" || exit 1; done"#
    #expect(try Child("/bin/sh", ["-c", shell, tool.store].map { Array($0.utf8) }).wait() == 0)
    let get = try tool.run("get", "k")
    #expect(get.status == 2)
    #expect(
      get.errors
        == "offlinecache: k: the entry is damaged, and the store moves it to its quarantine, so "
        + "fetch or put it again; or it may not be read, which 'cachefsck' reports\n")
  }

  @Test(arguments: lengths)
  func `a damaged page is fetched again or offline an error`(length: Int) throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let body = [UInt8](repeating: 2, count: length)
    origin.set("/a", OriginAnswer(body))
    let (url, target) = ("\(origin.base)/a", tool.path("page"))
    #expect(try tool.run("fetch", url).status == 0)
    try damageBodies(tool)
    let offline = try tool.run("fetch", "--offline", url, "-o", target)
    #expect(offline.status == 2)
    #expect(!exists(target))
    #expect(try tool.run("fetch", url, "-o", target).status == 0)
    #expect(try tool.read(target) == body)
    #expect(origin.requests.count == 2)
    #expect(try tool.run("fetch", "--offline", url, "-o", target).status == 0)
  }
}
