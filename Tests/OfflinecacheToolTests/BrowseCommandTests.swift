import Foundation
import LoopbackOrigin
import NginxOrigin
import Testing
import ToolTesting

/// `browse`, mostly with a script in place of the browser.
@Suite(.timeLimit(.minutes(2))) struct BrowseCommandTests {
  private let folder = TemporaryFolder()
  private static let certutil = program(["certutil"])
  private static let chromium = program(["chromium", "chromium-browser", "google-chrome"])

  private static func program(_ names: [String]) -> String? {
    names.map { "/usr/bin/\($0)" }.first(where: FileManager.default.isExecutableFile)
  }

  /// A run with its own state folder and temporary files.
  private func words(_ words: [String], path: String? = nil) throws -> [[UInt8]] {
    try FileManager.default.createDirectory(
      atPath: temporary, withIntermediateDirectories: true)
    var start = ["/usr/bin/env", "XDG_STATE_HOME=\(folder.path)", "TMPDIR=\(temporary)"]
    if let path { start.append("PATH=\(path)") }
    return (start + [try ToolRun.executable()] + words).map { Array($0.utf8) }
  }

  private var temporary: String { "\(folder.path)/tmp" }

  private func run(_ words: String..., path: String? = nil) throws -> ToolResult {
    try ToolRun().run(program: self.words(words, path: path))
  }

  /// Makes a script that takes the place of a browser.
  private func browser(_ script: String, name: String = "chromium") throws -> String {
    let path = "\(folder.path)/\(name)"
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    return path
  }

  private var left: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? []
  }

  @Test func `says what is missing: authority, browser, certutil`() throws {
    #expect(try run("browse").errors.contains("'offlinecache ca create'"))
    #expect(try run("ca", "create").status == 0)
    let none = try run("browse", path: folder.path)
    #expect(none.status == 2)
    #expect(none.errors.contains("--browser PATH"))
    #expect(try run("browse", "--browser", "lynx").errors.contains("--browser PATH"))
    _ = try browser("exit 0")
    let bare = try run("browse", path: folder.path)
    #expect(bare.status == 2)
    #expect(bare.errors.contains("libnss3-tools"))
    #expect(left.isEmpty)
  }

  @Test func `takes one page`() throws {
    #expect(try run("browse", "ftp://a/").status == 64)
    #expect(try run("browse", "a.test", "b.test").status == 64)
    let secret = try run("browse", "user:secret@a.test")
    #expect(secret.status == 2 && secret.errors.contains("https://a.test/: a URL with a name"))
    #expect(!secret.errors.contains("secret"))
  }

  @Test(.enabled(if: certutil != nil, "install libnss3-tools"))
  func `gives the browser a profile of its own, and removes it`() throws {
    #expect(try run("ca", "create").status == 0)
    let script = """
      printf '%s\\n' "$@" "HOME=$HOME"
      certutil -d sql:"$HOME/.pki/nssdb" -L | grep offlinecache
      exit 3
      """
    let result = try run(
      "browse", "--store", "\(folder.path)/store", "--browser", try browser(script), "a.test/x",
      "--", "--more")
    #expect(result.status == 2)
    #expect(result.errors.contains("has ended with status 3"))
    let lines = result.lines
    #expect(lines.contains { $0.hasPrefix("--proxy-server=http://127.0.0.1:") })
    #expect(lines.contains("--proxy-bypass-list=<-loopback>"))
    #expect(lines.contains("--more"))
    #expect(lines.contains("https://a.test/x"))
    #expect(lines.contains { $0.hasPrefix("HOME=\(temporary)/offlinecache-browse.") })
    #expect(lines.contains { $0.hasPrefix("offlinecache ") && $0.contains(" C,,") })
    #expect(!result.text.contains("ignore-certificate"))
    #expect(left.isEmpty)
  }

  @Test(.enabled(if: certutil != nil, "install libnss3-tools"))
  func `gives Firefox the proxy and the authority in its profile`() throws {
    #expect(try run("ca", "create").status == 0)
    let script = "cat \"$3/user.js\"; certutil -d sql:\"$3\" -L; printf '%s\\n' \"$4\""
    let result = try run(
      "browse", "--store", "\(folder.path)/store", "--browser",
      try browser(script, name: "firefox"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text.contains("user_pref(\"network.proxy.ssl\", \"127.0.0.1\");"))
    #expect(result.text.contains("C,,"))
    #expect(result.text.contains("/.offlinecache/sites"))
    #expect(left.isEmpty)
  }

  @Test(.enabled(if: certutil != nil, "install libnss3-tools"), arguments: [1, 2])
  func `a signal ends the browser, and all that it has started`(signals: Int) throws {
    #expect(try run("ca", "create").status == 0)
    let script = """
      trap 'echo told' TERM
      (trap '' TERM; exec sleep 1000) &
      echo started
      while :; do wait; done
      """
    let (path, run) = (try browser(script), ToolRun())
    let output = Foundation.Pipe()
    let running = try run.start(
      program: words(["browse", "--store", run.store, "--browser", path]),
      output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    let read = output.fileHandleForReading
    let begin = String(decoding: read.availableData, as: UTF8.self)
    #expect(begin == "started\n")
    running.child.send(SIGTERM)
    let told = String(decoding: read.availableData, as: UTF8.self)
    #expect(told == "told\n")
    if signals == 2 { running.child.send(SIGTERM) }
    let result = try running.finish()
    // The second one does not wait for the browser, which ignores the first.
    #expect(result.status == (signals == 1 ? 0 : 128 + SIGTERM), "\(result.errors)")
    // No process has the pipe open any more.
    #expect(read.readDataToEndOfFile().isEmpty)
    #expect(left.isEmpty)
  }

  @Test func `a second signal while the profile is made removes it`() throws {
    #expect(try run("ca", "create").status == 0)
    let (path, run) = (try browser("exit 0"), ToolRun())
    // Ends when the profile is gone.
    _ = try browser(
      "echo started; while [ -d \"${2#sql:}\" ]; do sleep 0.05; done", name: "certutil")
    let output = Foundation.Pipe()
    let running = try run.start(
      program: words(
        ["browse", "--store", run.store, "--browser", path], path: "\(folder.path):/usr/bin:/bin"),
      output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    let begin = output.fileHandleForReading.availableData
    #expect(String(decoding: begin, as: UTF8.self) == "started\n")
    running.child.send(SIGTERM)
    running.child.send(SIGINT)
    let result = try running.finish()
    #expect([SIGINT, SIGTERM].map { 128 + $0 }.contains(result.status), "\(result.errors)")
    #expect(left.isEmpty)
  }

  @Test(
    .enabled(
      if: certutil != nil && chromium != nil && NginxOrigin.isInstalled,
      "install chromium, libnss3-tools and nginx"))
  func `Chromium shows a page of https, and again without the server`() async throws {
    let certificates = try await Certificates.make()
    let origin = try LoopbackOrigin()
    origin.set("/a", OriginAnswer("<p>hello</p>", fields: ["Content-Type: text/html"]))
    let server = try Serving(
      "--origin", origin.base, "--tls-cert", "\(certificates.path)/good.pem", "--tls-key",
      "\(certificates.path)/good.key", "--log", "none")
    #expect(try run("ca", "create").status == 0)
    let url = "\(server.base.replacing("127.0.0.1", with: "localhost"))/a"
    func browse(_ more: String...) throws -> ToolResult {
      let words =
        [
          "browse", url, "--store", "\(folder.path)/store", "--ca-file",
          "\(certificates.path)/ca.pem",
        ]
        + more + ["--", "--headless", "--dump-dom"]
      return try ToolRun().run(program: self.words(words))
    }
    let online = try browse("--browser", "chromium")
    #expect(online.text.contains("<p>hello</p>"), "\(online.errors)")
    server.running.child.send(SIGTERM)
    _ = try server.running.finish()
    origin.stop()
    #expect(try browse("--offline", "--browser", "chromium").text.contains("<p>hello</p>"))
    #expect(left.isEmpty)
  }
}
