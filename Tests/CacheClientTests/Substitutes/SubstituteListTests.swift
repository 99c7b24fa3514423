import Foundation
import Testing

@testable import CacheClient

@Suite struct SubstituteListTests {
  private let folder = SubstituteFolder()

  init() throws {
    try folder.write("site/index.html", "index")
    try folder.write("a b.txt", "blank")
  }

  private func table(_ text: String) throws -> Substitutes {
    try Substitutes(contentsOf: [try folder.write("table", text)])
  }

  private func rule(_ table: Substitutes, _ url: String) throws -> SubstituteRule? {
    table.open(try NormalizedURL(url))?.1
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `what another user may have planted is neither a table nor an answer`() throws {
    let shared = folder.path + "/site"
    let path = try folder.write("site/table", "http://h/ index.html\nhttp://h/app/* .\n")
    let table = try Substitutes(contentsOf: [path])
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(chmod(shared, 0o1777) == 0)
    #expect(try rule(table, "http://h/") != nil)
    unsafe #expect(lchown(shared + "/index.html", 65_534, 65_534) == 0)
    #expect(try rule(table, "http://h/") == nil && rule(table, "http://h/app/index.html") == nil)
    unsafe #expect(lchown(path, 65_534, 65_534) == 0)
    let error = #expect(throws: SubstituteError.self) { try Substitutes(contentsOf: [path]) }
    #expect(error?.problem == "may have been put there by another user")
  }

  @Test func `lines are rules, with paths relative to the table`() throws {
    let table = try table(
      """
      # a comment "with one mark

      http://h/  site/index.html\r
      \thttp://h/app/*\tsite/   max-age=5  stored=newer
      "http://h/with blank"  "a b.txt"  "type=text/plain; charset=x"  fresh=always
      http://h/absolute \(folder.path)/site/index.html
      """)
    #expect(try rule(table, "http://h/")?.target == .file("\(folder.path)/site/index.html"))
    let app = try rule(table, "http://h/app/index.html")
    #expect(app?.target == .folder("\(folder.path)/site/"))
    #expect(app?.lifetime == .seconds(5))
    #expect(app?.yieldsToNewer == true)
    let blank = try rule(table, "http://h/with%20blank")
    #expect(blank?.mediaType == "text/plain; charset=x")
    #expect(blank?.lifetime == .always)
    #expect(try rule(table, "http://h/absolute") != nil)
  }

  @Test(arguments: [
    ("http://h/a", "there is no file for http://h/a"),
    ("http://h/a gone", "cannot be read (No such file or directory)"),
    ("http://h/a site", "a folder answers for all URLs below a path"),
    ("http://h/a site/index.html type=", "type= is no option"),
    ("http://h/a site/index.html max-age=-1", "max-age=-1 is no number of seconds"),
    ("http://h/a site/index.html max-age=99999999999", "is no number of seconds"),
    ("http://h/a site/index.html more", "more is no option"),
    ("http://h/a \"site/index.html", "a quotation mark is not closed"),
    ("h/a site/index.html", "has no scheme"),
    ("http://h/b site/index.html", "has a substitute already in line 1"),
    ("http://h/a site/index.html type=html", "html is no media type"),
  ])
  func `a fault is reported with its line`(line: String, problem: String) throws {
    let error = #expect(throws: SubstituteError.self) {
      try table("http://h/b site/index.html\n\(line)\n")
    }
    #expect(error?.line == 2)
    #expect(error?.description.contains("table:2: ") == true)
    #expect(error?.problem.contains(problem) == true, "\(String(describing: error))")
    #expect(error?.remedy.isEmpty == false)
  }

  @Test func `a file that is no table is reported`() throws {
    let bytes = try folder.write("bytes", Array("http://h/a \u{1}\n".utf8) + [0xFF, 0x0A])
    for (path, line) in [(bytes, 1), ("\(folder.path)/none", nil), (folder.path, nil)] {
      let error = #expect(throws: SubstituteError.self) { try Substitutes(contentsOf: [path]) }
      #expect(error?.line == line || error?.line == 2)
      #expect(error?.subject == path)
    }
  }

  @Test func `a byte order mark at the start is no text`() throws {
    #expect(try rule(table("\u{FEFF}http://h/ site/index.html"), "http://h/") != nil)
  }

  @Test func `several tables are one`() throws {
    let one = try folder.write("one", "http://h/1 site/index.html")
    let two = try folder.write("two", "http://h/2 site/index.html")
    let table = try Substitutes(contentsOf: [one, two])
    #expect(try rule(table, "http://h/1") != nil)
    #expect(try rule(table, "http://h/2") != nil)
    #expect(throws: SubstituteError.self) { try Substitutes(contentsOf: [one, one]) }
  }
}
