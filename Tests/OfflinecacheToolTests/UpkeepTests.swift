import Testing
import ToolTesting

@Suite struct UpkeepTests {
  /// Puts entries of 10,000 different bytes each.
  private func fill(_ tool: ToolRun, _ keys: [String]) throws {
    for (index, key) in keys.enumerated() {
      let body = [UInt8](repeating: UInt8(index), count: 10_000)
      #expect(try tool.run("put", key, "-", input: body).status == 0)
    }
  }

  @Test func `trimming evicts the oldest access first and never what is pinned`() throws {
    let tool = ToolRun()
    #expect(try tool.run("limit", "--count", "logical", "--free", "0").status == 0)
    try fill(tool, ["pinned", "old", "read", "new"])
    #expect(try tool.run("pin", "pinned").status == 0)
    #expect(try tool.run("get", "old").status == 0)
    let trim = try tool.run("trim", "--bytes", "30000")
    #expect(trim.status == 0)
    #expect(trim.errors == "evicted 1 entry\n")
    #expect(Set(try tool.run("ls").lines) == ["pinned", "old", "new"])
    #expect(try tool.run("trim", "--bytes", "0").errors == "evicted 2 entries\n")
    #expect(try tool.run("ls").lines == ["pinned"])
    #expect(try tool.run("unpin", "pinned").status == 0)
    #expect(try tool.run("trim", "--bytes", "0").errors == "evicted 1 entry\n")
    #expect(try tool.run("ls").lines == [])
  }

  @Test func `pinning what is not there is not found`() throws {
    let tool = ToolRun()
    try fill(tool, ["a"])
    let pin = try tool.run("pin", "a", "b")
    #expect(pin.status == 1)
    #expect(
      pin.errors
        == "offlinecache: b: there is no such entry; 'offlinecache ls' lists the keys\n")
    #expect(try tool.run("show", "a").lines.contains("pinned    yes"))
    #expect(try tool.run("unpin", "a").status == 0)
    #expect(try tool.run("show", "a").lines.contains("pinned    no"))
  }

  @Test func `limits are kept in the store and hold for the next command`() throws {
    let tool = ToolRun()
    let set = try tool.run("limit", "--entries", "2", "--entry-bytes", "1M", "--free", "0")
    #expect(set.status == 0)
    let shown = try tool.run("limit").lines
    #expect(
      shown == [
        "bytes              none", "entries               2", "entry-bytes          1M",
        "pinned-bytes       none", "free                  0", "count         allocated",
      ])
    try fill(tool, ["a", "b", "c"])
    #expect(try tool.run("stats", "--json").text.contains(#""entries": 2,"#))
    #expect(try tool.run("limit", "--entries", "none").status == 0)
    #expect(try tool.run("limit", "--json").text.contains(#""entries": null"#))
  }

  @Test func `limits that contradict are refused and change nothing`() throws {
    let tool = ToolRun()
    #expect(try tool.run("limit", "--bytes", "1M", "--free", "0").status == 0)
    let wrong = try tool.run("limit", "--entry-bytes", "2M")
    #expect(wrong.status == 2)
    #expect(wrong.errors.hasPrefix("offlinecache: "))
    #expect(try tool.run("limit", "--json").text.contains(#""entry_bytes": null"#))
  }

  @Test func `a byte limit with which nothing could be stored is refused`() throws {
    let tool = ToolRun()
    let result = try tool.run("limit", "--bytes", "100")
    #expect(result.status == 2)
    #expect(
      result.errors
        == "offlinecache: \(tool.store): a byte limit of 100 leaves no room for anything; "
        + "give at least 16384 with blocks of 4096 bytes, or none\n")
    #expect(try tool.run("limit", "--bytes", "100", "--count", "logical").status == 0)
    #expect(try tool.run("put", "k", "-", input: Array(repeating: 1, count: 100)).status == 0)
    #expect(try tool.run("limit", "--count", "allocated").status == 2)
    #expect(try tool.run("limit", "--bytes", "16K", "--count", "allocated").status == 0)
    #expect(try tool.run("put", "k", "-", input: Array(repeating: 2, count: 4096)).status == 0)
  }

  @Test func `the statistics show each limit beside what it limits`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let without = try tool.run("stats").lines
    #expect(!without.contains { $0.contains("limit") || $0.contains("free") })
    let json = try tool.run("stats", "--json").text
    #expect(json.contains(#""limit_entry_bytes": null,"#), "\(json)")
    #expect(json.contains(#""limit_free_bytes": 0,"#), "\(json)")
    #expect(try tool.run("limit", "--free", "2M", "--entry-bytes", "10").status == 0)
    let lines = try tool.run("stats").lines.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(lines.contains("largest body limit 10 B") && lines.contains("free space limit 2.0 MiB"))
    let limited = try tool.run("stats", "--json").text
    #expect(limited.contains(#""limit_entry_bytes": 10,"#))
    #expect(limited.contains(#""limit_free_bytes": 2097152,"#))
  }

  @Test func `equal bodies are counted as shared`() throws {
    let tool = ToolRun()
    let body = [UInt8](repeating: 5, count: 100_000)
    for key in ["a", "b", "c"] {
      #expect(try tool.run("put", key, "-", input: body).status == 0)
    }
    let json = try tool.run("stats", "--json").text
    #expect(json.contains(#""entries": 3,"#))
    #expect(json.contains(#""logical_bytes": 300000,"#))
    #expect(json.contains(#""shared_bytes": 200000,"#))
    let table = try tool.run("stats").lines
    #expect(table.contains { $0.hasPrefix("shared ") && $0.hasSuffix("195.3 KiB") })
  }
}
