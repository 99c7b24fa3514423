import CacheSystem
import Foundation
import Synchronization
import Testing

@testable import CacheClient

@Suite struct SubstitutesTests {
  private let folder = SubstituteFolder()

  /// What a table answers with, or nil.
  private func text(_ table: Substitutes, _ url: String) throws -> String? {
    guard let (file, _) = table.open(try NormalizedURL(url)) else { return nil }
    return String(
      decoding: try file.read(at: 0, count: Int(file.status.length)), as: UTF8.self)
  }

  @Test func `an exact URL is compared in its normal form, query and all`() throws {
    let path = try folder.write("a", "a")
    let table = try Substitutes([
      SubstituteRule("HTTP://Example.org:80/x/../a%7e?q=1#f", .file(path))
    ])
    #expect(try text(table, "http://example.org/a~?q=1") == "a")
    for url in [
      "http://example.org/a~", "http://example.org/a~?q=2", "https://example.org/a~?q=1",
      "http://example.org:81/a~?q=1", "http://www.example.org/a~?q=1",
    ] {
      #expect(try text(table, url) == nil, "\(url)")
    }
  }

  @Test func `exact URLs go first, then the first rule with a file`() throws {
    try folder.write("one/a.txt", "one/a")
    try folder.write("two/a.txt", "two/a")
    try folder.write("two/b.txt", "two/b")
    let exact = try folder.write("exact", "exact")
    let table = try Substitutes([
      SubstituteRule("http://h/*", .folder("\(folder.path)/one")),
      SubstituteRule("http://h/*", .folder("\(folder.path)/two/")),
      SubstituteRule("http://h/c.txt", .file(exact)),
      SubstituteRule("http://h/*.txt", .file(exact)),
    ])
    #expect(try text(table, "http://h/a.txt?v=3") == "one/a")
    #expect(try text(table, "http://h/b.txt") == "two/b")
    #expect(try text(table, "http://h/c.txt") == "exact")
    #expect(try text(table, "http://h/x/y.txt") == "exact")
    #expect(try text(table, "http://h/x/y.png") == nil)
  }

  @Test func `what follows a slash is index.html`() throws {
    try folder.write("index.html", "top")
    try folder.write("sub/index.html", "below")
    let table = try Substitutes([SubstituteRule("http://h/p/*", .folder(folder.path))])
    #expect(try text(table, "http://h/p/") == "top")
    #expect(try text(table, "http://h/p/?q") == "top")
    #expect(try text(table, "http://h/p/sub/") == "below")
    #expect(try text(table, "http://h/p/sub") == nil)
    #expect(try text(table, "http://h/p") == nil)
  }

  @Test func `names with escapes, long paths and deep folders are found`() throws {
    let deep = String(repeating: "folder-with-a-long-name/", count: 20)
    try folder.write("\(deep)ü a%.txt", "found")
    let table = try Substitutes([SubstituteRule("http://h/*", .folder(folder.path))])
    #expect(try text(table, "http://h/\(deep)%C3%BC%20a%25.txt") == "found")
  }

  @Test(arguments: [
    "../secret", "%2e%2e/secret", "..%2fsecret", "%2E%2E%2Fsecret", "a/..%2f..%2f..%2fsecret",
    "%00", "a%00b", "a//b", "//etc/passwd", "%2fetc%2fpasswd", "link", "linked/secret",
    "inside-link", ".", "%2e", "fifo", "%",
  ])
  func `nothing leads out of a folder, and links in it are not followed`(rest: String) throws {
    try folder.write("secret", "secret")
    try folder.write("site/a/b", "b")
    let files = FileManager.default
    try files.createSymbolicLink(
      atPath: "\(folder.path)/site/link", withDestinationPath: "\(folder.path)/secret")
    try files.createSymbolicLink(
      atPath: "\(folder.path)/site/linked", withDestinationPath: folder.path)
    try files.createSymbolicLink(
      atPath: "\(folder.path)/site/inside-link", withDestinationPath: "a/b")
    #expect(unsafe mkfifo("\(folder.path)/site/fifo", 0o600) == 0)
    let table = try Substitutes([
      SubstituteRule("http://h/p/*", .folder("\(folder.path)/site"))
    ])
    #expect(try text(table, "http://h/p/a/b") == "b")
    #expect(try text(table, "http://h/p/\(rest)") == nil)
  }

  @Test func `a folder that the user names may be a link`() throws {
    try folder.write("real/a", "a")
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/current", withDestinationPath: "real")
    let table = try Substitutes([
      SubstituteRule("http://h/*", .folder("\(folder.path)/current"))
    ])
    #expect(try text(table, "http://h/a") == "a")
  }

  @Test(arguments: [
    ("/a*c", "/ac", true), ("/a*c", "/abc", true), ("/a*c", "/a/b/c?c", true),
    ("/a*c", "/abcd", false), ("/a*c", "/a", false), ("/*", "/", true), ("/*", "/x/y?z", true),
    ("/*a*b*", "/xaxbx", true), ("/*a*b*", "/xbxa", false), ("/*ab*ab", "/ab", false),
    ("/*ab*ab", "/abab", true), ("/a**b", "/axb", true), ("/a?q=*", "/a?q=1", true),
    ("/a?q=*", "/a", false),
  ])
  func `a star is any characters`(pattern: String, target: String, matches: Bool) throws {
    let path = try folder.write("a", "a")
    let table = try Substitutes([SubstituteRule("http://h\(pattern)", .file(path))])
    #expect(try text(table, "http://h\(target)") == (matches ? "a" : nil))
  }

  @Test func `many stars and a long URL take no time`() throws {
    let path = try folder.write("a", "a")
    let pattern = "/" + String(repeating: "a*", count: 200) + "b"
    let table = try Substitutes([SubstituteRule("http://h\(pattern)", .file(path))])
    #expect(try text(table, "http://h/" + String(repeating: "a", count: 60_000)) == nil)
  }

  @Test(arguments: [
    "nothing", "ftp://h/a", "http:///a", "http://*.h/a", "http://h*/a", "http://h:x/a",
  ])
  func `what is no URL of one host is refused`(pattern: String) {
    #expect(throws: SubstituteError.self) {
      try Substitutes([SubstituteRule(pattern, .file("/a"))])
    }
  }

  @Test(arguments: ["http://h/a", "http://h/a*", "http://h/*/*", "http://h/*a", "http://h/?a/*"])
  func `a folder needs a URL that ends in a path and a star`(pattern: String) {
    let error = #expect(throws: SubstituteError.self) {
      try Substitutes([SubstituteRule(pattern, .folder("/a"))])
    }
    #expect(error?.remedy.contains("/*") == true)
  }

  @Test func `two substitutes for one URL, and a type that is none, are refused`() {
    #expect(throws: SubstituteError.self) {
      try Substitutes([
        SubstituteRule("http://h/a", .file("/a")), SubstituteRule("http://H:80/a", .file("/b")),
      ])
    }
    for type in ["", "html", "text/html\r\nX: y"] {
      #expect(throws: SubstituteError.self) {
        try Substitutes([SubstituteRule("http://h/a", .file("/a"), mediaType: type)])
      }
    }
  }

  @Test func `a missing file or folder is an error with path, cause and remedy`() {
    let path = "\(folder.path)/gone"
    for target: SubstituteRule.Target in [.file(path), .folder(path)] {
      let error = #expect(throws: SubstituteError.self) {
        try Substitutes([SubstituteRule("http://h/a/*", target)])
      }
      #expect(error?.subject == "http://h/a/*")
      #expect(error?.problem == "\(path) cannot be read (No such file or directory)")
      #expect(error?.remedy == "put it there, or take the rule out")
    }
  }

  @Test func `a file in place of a folder, a folder in place of a file and a pipe are errors`()
    throws
  {
    let file = try folder.write("a", "a")
    let pipe = "\(folder.path)/pipe"
    #expect(unsafe mkfifo(pipe, 0o600) == 0)
    let problems: [(SubstituteRule.Target, String)] = [
      (.folder(file), "\(file) is a file, and the rule is for a folder"),
      (.file(folder.path), "\(folder.path) is a folder, and the rule is for a file"),
      (.file(pipe), "\(pipe) is neither a file nor a folder"),
    ]
    for (target, problem) in problems {
      let error = #expect(throws: SubstituteError.self) {
        try Substitutes([SubstituteRule("http://h/*", target)])
      }
      #expect(error?.problem == problem)
    }
  }

  @Test(.enabled(if: getuid() != 0, "the superuser reads every file"))
  func `a file that may not be read is an error`() throws {
    let file = try folder.write("a", "a")
    #expect(unsafe chmod(file, 0) == 0)
    let error = #expect(throws: SubstituteError.self) {
      try Substitutes([SubstituteRule("http://h/a", .file(file))])
    }
    #expect(error?.problem == "\(file) cannot be read (Permission denied)")
  }

  @Test func `a file that goes away is reported once, one that a folder lacks never`() throws {
    let told = Mutex<[String]>([])
    try folder.write("gone", "a")
    try folder.write("folder", "b")
    let table = try Substitutes(
      [
        SubstituteRule("http://h/a", .file("\(folder.path)/gone")),
        SubstituteRule("http://h/b", .file("\(folder.path)/folder")),
        SubstituteRule("http://h/*", .folder(folder.path)),
      ]) { error in told.withLock { $0.append(error.description) } }
    try folder.remove("gone")
    try folder.remove("folder")
    try folder.write("folder/c", "c")
    for _ in 1...3 { #expect(try text(table, "http://h/a") == nil) }
    #expect(try text(table, "http://h/b") == nil)
    #expect(try text(table, "http://h/c") == nil)
    let lines = told.withLock { $0 }
    #expect(lines.count == 2)
    #expect(
      lines.first
        == "http://h/a: the substitute \(folder.path)/gone cannot be read (No such file or "
        + "directory), so the network is asked; put the file back")
  }
}
