import CLibrary
import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(2))) struct CrawlCommandTests {
  private let html = ["Content-Type: text/html", "Cache-Control: max-age=1000"]

  private func site() throws -> LoopbackOrigin {
    let origin = try LoopbackOrigin()
    origin.set("/", OriginAnswer("<a href=/b></a><a href=/gone></a><img src=i.png>", fields: html))
    origin.set("/b", OriginAnswer("<a href=/go></a><a href=/no></a>", fields: html))
    origin.set("/go", OriginAnswer.redirect("/c"))
    origin.set("/c", OriginAnswer("the end", fields: html))
    origin.set("/i.png", OriginAnswer("image"))
    origin.set("/robots.txt", OriginAnswer("User-agent: offlinecache\nDisallow: /no"))
    return origin
  }

  @Test func `a site is there without its server`() throws {
    let (tool, origin) = (ToolRun(), try site())
    let run = try tool.run("crawl", "\(origin.base)/", "--depth", "3", "--same-host")
    #expect(run.status == 1)
    #expect(
      run.lines == [
        "\(origin.base)/gone: the server answered 404; correct the link",
        "  linked from \(origin.base)/",
      ])
    #expect(
      run.errors.hasPrefix(
        "5 fetched, 0 in the store before, 1 not found, 0 failed, 1 not allowed by robots.txt"))
    origin.stop()
    for path in ["", "b", "go", "c", "i.png"] {
      let page = try tool.run("fetch", "--offline", "\(origin.base)/\(path)", "-o", "-")
      #expect(page.status == 0, "\(path): \(page.errors)")
    }
    #expect(try tool.run("fetch", "--offline", "\(origin.base)/no").status == 1)
  }

  @Test func `the option for pages with no-store is named once, at the end`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/", OriginAnswer("<a href=/a></a><a href=/b></a>", fields: html))
    for path in ["/a", "/b"] {
      origin.set(path, OriginAnswer("x", fields: ["Cache-Control: no-store"]))
    }
    let run = try tool.run("crawl", "\(origin.base)/")
    #expect(run.status == 2 && run.lines.count == 4)
    #expect(
      run.errors.hasSuffix(
        "\nofflinecache: 2 pages are not kept because they say no-store; --keep-no-store keeps "
          + "them for --offline\n"))
    let one = try tool.run("crawl", "\(origin.base)/a")
    #expect(one.errors.contains("1 page is not kept because it says no-store; "))
    let kept = try tool.run("crawl", "\(origin.base)/", "--keep-no-store")
    #expect(kept.status == 0 && !kept.errors.contains("no-store"))
  }

  @Test func `the report is there for programs, too`() throws {
    let (tool, origin) = (ToolRun(), try site())
    defer { origin.stop() }
    let run = try tool.run("crawl", "\(origin.base)/", "-d", "2", "--json")
    #expect(run.lines.count == 3)
    #expect(
      run.lines.first == """
        {"url":"\(origin.base)/gone","linked_from":"\(origin.base)/","outcome":"not_found",\
        "reason":"\(origin.base)/gone: the server answered 404; correct the link"}
        """)
    #expect(run.lines.last?.hasPrefix("{\"fetched\":5,\"stored\":0,\"not_found\":1,") == true)
    let quiet = try tool.run("crawl", "\(origin.base)/", "-d", "2", "--json", "-q")
    #expect(quiet.errors.isEmpty && quiet.lines == Array(run.lines.dropLast()))
  }

  @Test func `a page that is not read to its end is a failure`() throws {
    let (tool, origin) = (ToolRun(), try site())
    defer { origin.stop() }
    let deep = String(repeating: "<b>", count: 2100) + "<a href=/b></a>"
    origin.set("/deep", OriginAnswer(deep, fields: html))
    let run = try tool.run("crawl", "\(origin.base)/deep")
    #expect(run.status == 2)
    #expect(
      run.lines == [
        "\(origin.base)/deep: it has more than 2000 elements within one another, so some of its "
          + "links are not seen"
      ])
    #expect(run.errors.hasPrefix("0 fetched, 0 in the store before, 0 not found, 1 failed"))
    #expect(try tool.run("fetch", "--offline", "\(origin.base)/deep").status == 0)
  }

  @Test func `the limit and mistakes have statuses of their own`() throws {
    let (tool, origin) = (ToolRun(), try site())
    let full = try tool.run("crawl", "\(origin.base)/", "--limit", "20")
    #expect(full.status == 3)
    #expect(full.errors.contains("--limit was reached: "))
    origin.stop()
    let failed = try tool.run("crawl", "http://localhost:1/")
    #expect(failed.status == 2 && failed.text.contains("no connection can be made"))
    #expect(
      failed.text.hasPrefix(
        "http://localhost:1/: nothing is fetched from its host without its robots.txt: "
          + "http://localhost:1/robots.txt: "), "\(failed.text)")
    #expect(try tool.run("crawl").status == 64)
    #expect(try tool.run("crawl", "ftp://a/").status == 64)
    #expect(try tool.run("crawl", "http://me:secret@localhost/").status == 64)
  }

  @Test func `a limit of the store ends it, and is named with its option`() throws {
    let (tool, origin) = (ToolRun(), try site())
    defer { origin.stop() }
    let path = "\(tool.folder)/store"
    for (option, value) in [("--entries", "3"), ("--bytes", "40000")] {
      #expect(try tool.run("limit", option, value).status == 0)
      let run = try tool.run("crawl", "\(origin.base)/", "-d", "3")
      #expect(run.status == 3, "\(run.errors)")
      #expect(run.errors.contains("offlinecache: \(path): the store has "), "\(run.errors)")
      #expect(run.errors.contains("raise the limit with 'offlinecache limit \(option)'"))
      #expect(try tool.run("fetch", "--offline", "\(origin.base)/", "-o", "-").status == 0)
      #expect(try tool.run("limit", option, "none").status == 0)
      #expect(try tool.run("rm", "--all").status == 0)
    }
  }

  @Test func `it ends when the folder of the store is gone`() throws {
    let tool = ToolRun()
    let origin = try LoopbackOrigin { [store = tool.store, html] request in
      if request.target == "/b" { try? FileManager.default.removeItem(atPath: store) }
      let links = request.target == "/" ? "<a href=/b></a>" : "<a href=/c></a><a href=/d></a>"
      return request.target == "/robots.txt"
        ? OriginAnswer("", status: 404) : OriginAnswer(links, fields: html)
    }
    defer { origin.stop() }
    let run = try tool.run("crawl", "\(origin.base)/", "--depth", "9")
    #expect(run.status == 2)
    #expect(run.lines == [])
    #expect(run.errors.contains(", so it has ended, and 1 known URL is left out; check the path"))
    #expect(run.errors.hasSuffix("moved meanwhile, open it or start the command again\n"))
    #expect(!origin.requests.contains { $0.target == "/c" })
  }

  @Test func `a start page that robots_txt does not allow is a failure`() throws {
    let (tool, origin) = (ToolRun(), try site())
    defer { origin.stop() }
    origin.set("/to", OriginAnswer.redirect("/no"))
    for path in ["no", "to"] {
      let run = try tool.run("crawl", "\(origin.base)/\(path)")
      #expect(run.status == 2)
      #expect(run.text.contains("/no: the robots.txt of its host does not allow it; start with"))
    }
  }

  @Test func `Ctrl-C ends it with a report, and it goes on`() throws {
    let (tool, origin) = (ToolRun(), try site())
    defer { origin.stop() }
    origin.set("/b", .silence)
    let running = try tool.start(
      ["crawl", "\(origin.base)/", "-d", "2"].map { Array($0.utf8) })
    try running.child.wait { origin.requests.contains { $0.target == "/b" } }
    running.child.send(SIGINT)
    let result = try running.finish()
    #expect(result.status == 130)
    #expect(result.errors.contains("fetched, ") && result.errors.contains("left out"))
    origin.set("/b", OriginAnswer("<a href=/c></a>", fields: html))
    #expect(try tool.run("crawl", "\(origin.base)/", "-d", "2").status == 1)
    #expect(origin.requests.count { $0.target == "/" } == 1)
    #expect(origin.requests.contains { $0.target == "/c" })
  }
}
