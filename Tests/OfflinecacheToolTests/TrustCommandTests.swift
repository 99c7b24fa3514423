import Foundation
import Testing
import ToolTesting

/// `ca trust`, without changes of this system.
@Suite struct TrustCommandTests {
  private let state = TemporaryFolder()
  private static let certutil = "/usr/bin/certutil"

  private func trust(_ words: String..., variables: [String] = []) throws -> ToolResult {
    try run(["ca", "trust"] + words, variables)
  }

  private func run(_ words: [String], _ variables: [String] = []) throws -> ToolResult {
    let names = [
      "APT_CONFIG", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
      "PIP_CERT", "NODE_EXTRA_CA_CERTS",
    ]
    let start =
      ["/usr/bin/env"] + names.flatMap { ["-u", $0] } + ["XDG_STATE_HOME=\(state.path)"] + variables
    let program = start + [try ToolRun.executable()] + words
    return try ToolRun().run(program: program.map { Array($0.utf8) })
  }

  private var folder: String { "\(state.path)/offlinecache" }

  @Test func `runs one command that trusts the authority, with its status`() throws {
    #expect(try run(["ca", "create"]).status == 0)
    let result = try trust("--", "sh", "-c", "env; exit 7")
    #expect(result.status == 7)
    for name in [
      "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
    ] {
      #expect(result.lines.contains("\(name)=\(folder)/ca-bundle.pem"))
    }
    #expect(result.lines.contains("NODE_EXTRA_CA_CERTS=\(folder)/ca.pem"))
    #expect(result.lines.contains("APT_CONFIG=\(folder)/ca-apt.conf"))
    let own = try trust("--", "env", variables: ["APT_CONFIG=/own", "CURL_CA_BUNDLE=/own"])
    #expect(own.lines.contains("APT_CONFIG=/own"))
    #expect(!own.lines.contains("CURL_CA_BUNDLE=/own"))
    #expect(try trust("--", "none-such").errors.contains("there is no such command"))
  }

  @Test func `tells how to undo it, also without an authority`() throws {
    let result = try trust("--undo")
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("unset SSL_CERT_FILE "))
  }

  @Test func `authorities of the user's own stay trusted, and the undo restores them`() throws {
    #expect(try run(["ca", "create"]).status == 0)
    let (mine, node) = ("\(state.path)/it's mine.pem", "\(state.path)/node.pem")
    try Data("mine".utf8).write(to: URL(filePath: mine))
    try Data("node".utf8).write(to: URL(filePath: node))
    let own = ["SSL_CERT_FILE=\(mine)", "NODE_EXTRA_CA_CERTS=\(node)", "PIP_CERT=/none"]
    let script = """
      eval "$($0 ca trust)"; eval "$($0 ca trust)"; cat "$SSL_CERT_FILE"; echo "$NODE_EXTRA_CA_CERTS"
      eval "$($0 ca trust --undo)"; env
      """
    let start = ["/usr/bin/env", "-u", "CURL_CA_BUNDLE", "XDG_STATE_HOME=\(state.path)"] + own
    let program = start + ["sh", "-c", script, try ToolRun.executable()]
    let result = try ToolRun().run(program: program.map { Array($0.utf8) })
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.lines.contains("mine") && result.lines.contains("node"))
    #expect(result.lines.count { $0 == "-----BEGIN CERTIFICATE-----" } >= 1)
    #expect(result.lines.contains("\(folder)/ca-bundle-own.pem"))
    #expect(result.lines.contains("SSL_CERT_FILE=\(mine)"))
    #expect(result.lines.contains("NODE_EXTRA_CA_CERTS=\(node)"))
    #expect(!result.text.contains("OFFLINECACHE_OLD") && !result.text.contains("CURL_CA_BUNDLE="))
    #expect(result.errors.contains("PIP_CERT: /none cannot be read; its authorities are left out"))
    // What is not ours is not undone.
    #expect(!(try trust("--undo", variables: own).text.contains("SSL_CERT_FILE")))
  }

  @Test func `takes one thing that is to trust it`() throws {
    #expect(try trust("--profile", "a", "--system").status == 64)
    #expect(try trust("--undo", "--", "env").status == 64)
    #expect(try trust("--system", "--", "env").status == 64)
  }

  /// A program of another process group gets no input from the terminal, but is stopped (SIGTTIN).
  @Test func `certutil can ask for a password on the terminal`() throws {
    #expect(try run(["ca", "create"]).status == 0)
    let script = """
      #!/bin/sh
      set -- $(ps -o pgid= -p $$) $(ps -o pgid= -p $PPID)
      [ $# = 2 ] && [ "$1" = "$2" ]
      """
    let fake = "\(state.path)/certutil"
    try Data(script.utf8).write(to: URL(filePath: fake))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: fake)
    let profile = TemporaryFolder()
    try Data().write(to: URL(filePath: "\(profile.path)/cert9.db"))
    let result = try trust(
      "--profile", profile.path, variables: ["PATH=\(state.path):/usr/bin:/bin"])
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: certutil), "install libnss3-tools"))
  func `makes a browser profile trust it, and undoes that`() throws {
    #expect(try run(["ca", "create"]).status == 0)
    let profile = TemporaryFolder()
    func certutil(_ word: String...) throws -> ToolResult {
      try ToolRun().run(
        program: ([Self.certutil, "-d", "sql:\(profile.path)"] + word).map { Array($0.utf8) })
    }
    let none = try trust("--profile", profile.path)
    #expect(none.status == 2)
    #expect(none.errors.contains("no file cert9.db"))
    #expect(try certutil("-N", "--empty-password").status == 0)
    #expect(try trust("--profile", profile.path).status == 0)
    #expect(try certutil("-L").text.contains("C,,"))
    // Another authority has the same name in the profile.
    #expect(try run(["ca", "remove"]).status == 0)
    #expect(try run(["ca", "create"]).status == 0)
    #expect(try trust("--profile", profile.path).status == 0)
    #expect(try certutil("-L").text.split(separator: "\n").count { $0.contains("C,,") } == 2)
    #expect(try run(["ca", "remove"]).status == 0)
    #expect(try trust("--profile", profile.path, "--undo").status == 0)
    #expect(try !certutil("-L").text.contains("C,,"))
    let again = try trust("--profile", profile.path, "--undo")
    #expect(again.status == 1)
    #expect(!again.errors.contains("SEC_ERROR") && again.errors.contains("does not trust"))
  }
}
