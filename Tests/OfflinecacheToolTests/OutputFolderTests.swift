import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

@Suite struct OutputFolderTests {
  @Test func `a page and a folder may have the same name`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let pages = ["/a", "/a/b", "/a/b/c", "/a/"]
    for path in pages { origin.set(path, OriginAnswer(path)) }
    for order in [pages, pages.reversed()] {
      let folder = tool.path("out\(order[0].count)")
      let addresses = order.map { origin.base + $0 }
      let together = try tool.run(
        bytes: (["fetch", "--output-dir", folder, "-j", "4"] + addresses).map { Array($0.utf8) })
      #expect(together.status == 0, "\(together.errors)")
      for address in addresses {
        let alone = try tool.run("fetch", "--output-dir", folder + "-1", address)
        #expect(alone.status == 0, "\(alone.errors)")
      }
      for folder in [folder, folder + "-1"] {
        let written = FileManager.default.enumerator(atPath: folder)?.compactMap { name in
          try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        }
        #expect(written?.sorted() == pages.sorted())
      }
    }
  }

  @Test func `a body that cannot be written is stored`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    try tool.write([], to: tool.path("file"))
    let folder = try tool.run("fetch", "\(origin.base)/a", "--output-dir", tool.path("file"))
    #expect(folder.status == 2 && folder.errors.contains(tool.path("file")))
    #expect(try tool.run("get", "GET \(origin.base)/a").text == "hello")
    // A wrong name is seen before the transfer.
    let before = origin.requests.count
    let file = try tool.run("fetch", "\(origin.base)/b", "-o", tool.path("none/b"))
    #expect(file.status == 2 && file.errors.contains(tool.path("none/b")))
    #expect(origin.requests.count == before)
  }
}
