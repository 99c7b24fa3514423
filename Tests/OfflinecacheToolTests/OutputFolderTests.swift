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

  /// In a folder that all may write to, another user has put a link in the place of a folder, or a
  /// folder with a link.
  @Test(
    .enabled(if: geteuid() == 0, "another user's files are needed"),
    arguments: ["http", "http/%", "."])
  func `nothing is written through what another user has planted`(place: String) throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    let (shared, victim) = (tool.path("shared"), tool.path("victim"))
    let folder = place == "." ? "\(shared)/named" : shared
    for path in [shared, victim] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let host = origin.base.dropFirst("http://".count)
    var planted = place == "." ? [folder] : ["\(shared)/http"]
    if place == "http/%" {
      try FileManager.default.createDirectory(
        atPath: planted[0], withIntermediateDirectories: true)
      planted.append("\(planted[0])/\(host)")
    }
    try makeLink(planted[planted.count - 1], to: victim)
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    for path in planted { unsafe #expect(lchown(path, 65_534, 65_534) == 0) }
    unsafe #expect(chmod(shared, 0o1777) == 0)
    let run = try tool.run("fetch", "\(origin.base)/a", "--output-dir", folder)
    let reason = "\(planted[0]) belongs to another user, who may have put it there; choose another"
    #expect(run.status == 2 && run.errors.contains(reason))
    let innermost = planted[planted.count - 1]
    let file = try tool.run("fetch", "\(origin.base)/a", "-o", "\(innermost)/a")
    #expect(file.status == 2 && file.errors.contains("\(innermost)/a: \(reason)"))
    let words = ["download", "\(origin.base)/a", "--output-dir", innermost]
    let download = try tool.run(bytes: words.map { Array($0.utf8) })
    #expect(download.status == 2 && download.errors.contains("\(innermost): \(reason)"))
    #expect(try names(in: victim).isEmpty)
  }

  @Test func `one's own links and folders are followed`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    let (folder, real) = (tool.path("folder"), tool.path("real"))
    for path in [folder, real] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try makeLink("\(folder)/http", to: real)
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(chmod(folder, 0o1777) == 0)
    #expect(try tool.run("fetch", "\(origin.base)/a", "--output-dir", folder).status == 0)
    #expect(try names(in: real).count == 1)
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
