import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(2))) struct OutputInStoreTests {
  private let tool = ToolRun()

  /// The names in the store.
  private func names() throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: tool.store))
  }

  @Test func `no command writes a file into a store`() throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("page") }
    defer { origin.stop() }
    let (store, url) = (tool.store, "\(origin.base)/a")
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let (before, description) = (try names(), try tool.read("\(store)/store.json"))
    let other = ["--store", tool.path("other")]
    for words in [
      ["get", "k", "-o", "\(store)/store.json"], ["get", "k", "-o", "\(store)/new"],
      other + ["fetch", url, "-o", "\(store)/entries/new"],
      other + ["fetch", url, "--output-dir", "\(store)/quarantine"],
      ["download", url, "--output-dir", store], ["download", url, "--output-dir", "\(store)/new"],
      ["download", "--resume", "--output-dir", store],
      ["upload", url, "--urlencode", "a=b", "-o", "\(store)/new"],
      other + ["fetch", url, "--fingerprint-key", "\(store)/key"],
      ["serve", "--listen", "127.0.0.1:0", "--log", "\(store)/log"],
      ["--store", "\(store)/inner", "put", "k", "-"],
    ] {
      let words =
        [try ToolRun.executable()] + (words[0] == "--store" ? [] : ["--store", store]) + words
      let result = try tool.run(program: words.map { Array($0.utf8) })
      #expect(result.status == 2, "\(words)")
      #expect(
        result.errors.contains("this is in the folder of the store \(store), which"),
        "\(words): \(result.errors)")
    }
    #expect(origin.requests.isEmpty)
    #expect(try names() == before)
    #expect(try tool.read("\(store)/store.json") == description)
  }

  @Test func `a file of a store can be stored`() throws {
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    #expect(try tool.run("put", "copy", "\(tool.store)/store.json").status == 0)
    #expect(try tool.run("get", "copy").output == tool.read("\(tool.store)/store.json"))
  }
}
