import Foundation
import Testing
import ToolTesting

/// The files of the authority, and what is refused.
@Suite struct CaCommandTests {
  private let state = TemporaryFolder()
  private static let openssl = "/usr/bin/openssl"

  private func path(_ name: String) -> String { "\(state.path)/offlinecache/\(name)" }

  private func run(_ words: String...) throws -> ToolResult {
    let start = ["/usr/bin/env", "XDG_STATE_HOME=\(state.path)", try ToolRun.executable()]
    return try ToolRun().run(program: (start + words).map { Array($0.utf8) })
  }

  private func serve() throws -> ToolResult {
    try run(
      "serve", "--store", "\(state.path)/store", "--intercept", "--listen", "127.0.0.1:0",
      "--log", "none")
  }

  @Test func `without a folder for it the message says what to set`() throws {
    let words = [
      "/usr/bin/env", "-u", "HOME", "-u", "XDG_STATE_HOME", try ToolRun.executable(), "ca",
      "create",
    ]
    let result = try ToolRun().run(program: words.map { Array($0.utf8) })
    #expect(result.status == 2)
    #expect(
      result.errors.hasSuffix("neither XDG_STATE_HOME nor HOME names a folder; set one of them\n"))
  }

  @Test func `a key that others can read is refused`() throws {
    #expect(try run("ca", "create").status == 0)
    for mode in [0o644, 0o640] {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: path("ca.key"))
      for result in [try serve(), try run("browse"), try run("ca", "trust")] {
        #expect(result.status == 2)
        #expect(result.errors.contains("\(path("ca.key")) can be read by others"))
        #expect(result.errors.contains("chmod 600") && result.errors.contains("'ca create'"))
      }
    }
    #expect(try run("ca", "remove").status == 0)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "install openssl"))
  func `an authority that has expired is shown, and refused`() throws {
    #expect(try run("ca", "create").status == 0)
    for words in [
      [
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
        "-keyout", path("ca.key"), "-out", path("ca.csr"),
      ],
      [
        "x509", "-req", "-in", path("ca.csr"), "-signkey", path("ca.key"), "-days", "-1", "-out",
        path("ca.pem"), "-extfile", path("extensions"),
      ],
    ] {
      try Data("basicConstraints=critical,CA:TRUE".utf8).write(
        to: URL(filePath: path("extensions")))
      let made = try ToolRun().run(program: ([Self.openssl] + words).map { Array($0.utf8) })
      try #require(made.status == 0, "\(made.errors)")
    }
    let shown = try run("ca", "show")
    #expect(shown.status == 0 && shown.text.contains("expired"))
    for result in [try serve(), try run("browse"), try run("ca", "trust")] {
      #expect(result.status == 2)
      #expect(result.errors.contains("it has expired on "), "\(result.errors)")
      #expect(result.errors.contains("ca trust --undo") && result.errors.contains("ca remove"))
    }
  }

  @Test(arguments: ["ca.key", "ca.pem"])
  func `the rest of an authority is not overwritten`(name: String) throws {
    #expect(try run("ca", "create").status == 0)
    let other = name == "ca.key" ? "ca.pem" : "ca.key"
    try FileManager.default.removeItem(atPath: path(name))
    let before = try Data(contentsOf: URL(filePath: path(other)))
    let result = try run("ca", "create")
    #expect(result.status == 2)
    #expect(result.errors.contains(path(name)) && result.errors.contains("ca remove"))
    #expect(try Data(contentsOf: URL(filePath: path(other))) == before)
    #expect(try run("ca", "remove").status == 0)
    #expect(try run("ca", "create").status == 0)
  }

  @Test func `name constraints are shown`() throws {
    #expect(
      try run("ca", "create", "--name-constraint", "A.test", "--name-constraint", "b").status == 0)
    #expect(try run("ca", "show").text.contains("vouches for  a.test and below, b and below\n"))
    let json = try run("ca", "show", "--json").text
    #expect(
      json.filter { $0 != " " && $0 != "\n" }.contains("\"name_constraints\":[\"a.test\",\"b\"]"))
    #expect(try run("ca", "remove").status == 0)
    #expect(try run("ca", "create").status == 0)
    #expect(try run("ca", "show").text.contains("vouches for  all hosts\n"))
  }

  @Test func `what is not there cannot be removed`() throws {
    let result = try run("ca", "remove")
    #expect(result.status == 1)
    #expect(result.errors.contains("there is no authority"))
  }
}
