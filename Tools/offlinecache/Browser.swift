import CLibrary
import CacheSystem
import CachingProxy
import CommandLineTools
import HTTPSemantics

/// A browser with a temporary profile that trusts the user's authority and uses the proxy.
///
/// Its folder for profile, certificates and cache is its HOME, and is removed with it. It shares
/// nothing with the user's own browser, and never ignores an error of a certificate.
final class Browser {
  private enum Kind {
    case chromium, firefox
  }

  private static let names: [(kind: Kind, names: [String])] = [
    (.chromium, ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]),
    (.firefox, ["firefox", "firefox-esr"]),
  ]
  /// The seconds that it gets to end by itself.
  private static let patience = 5

  private let kind: Kind
  private let path: String
  private let url: NormalizedURL?
  private let arguments: [Argument]
  private let certificate: String
  private var folder: String?
  private var program: ProgramRun?
  /// The exit status, `nil` while the program runs or if it was told to end; and whether it was told.
  private let result = Monitor((status: Int32?.none, isTold: false))
  private var signals: ServeSignals?

  /// Finds the browser and all that its profile needs.
  ///
  /// - Parameters:
  ///   - wanted: `chromium`, `firefox` or the path of one; `nil` for the first that is installed.
  ///   - url: The page to open; `nil` for the list of what is stored.
  ///   - arguments: Further arguments for the browser.
  /// - Throws: ``ToolError`` if the browser, certutil or the authority is missing.
  init(_ wanted: String?, url: NormalizedURL?, arguments: [Argument]) throws {
    let files = try AuthorityFiles()
    _ = try files.require()
    certificate = files.certificate.path
    (kind, path) = try Self.find(wanted)
    _ = try CertificateDatabase(in: "")
    self.url = url
    self.arguments = arguments
  }

  var port: UInt16? { url.map { UInt16(clamping: $0.port) } }

  private static func find(_ wanted: String?) throws -> (Kind, String) {
    for (kind, names) in names where wanted == nil || wanted == "\(kind)" {
      if let path = names.lazy.compactMap(ProgramRun.find).first { return (kind, path) }
    }
    if let wanted, wanted.contains("/"), let path = ProgramRun.find(wanted) {
      let name = path.split(separator: "/").last?.lowercased() ?? ""
      return (name.contains("firefox") ? .firefox : .chromium, path)
    }
    throw ToolError(
      subject: wanted ?? "chromium or firefox", problem: "there is no such browser",
      remedy: "install one (on Debian: chromium or firefox-esr), or name it with --browser PATH")
  }

  /// Makes the profile and opens the page.
  ///
  /// - Parameters:
  ///   - proxy: The address of the proxy.
  ///   - signals: Told when the browser has ended.
  func open(proxy: ListenAddress, _ signals: ServeSignals) throws {
    let home = try Self.makeFolder()
    folder = home
    self.signals = signals
    signals.beforeForcedEnd { Self.remove(home) }
    let profile = BrowserProfile(home: home, certificate: certificate)
    try kind == .chromium ? profile.makeForChromium() : profile.makeForFirefox(proxy)
    let page = url?.string ?? "http://\(proxy)\(ProxyStatus.sitesPath)"
    let words = switches(profile.path, proxy) + arguments + [Argument(page)]
    let started = try ProgramRun(
      path, words, environment: Self.environment(home), hasGroup: true)
    program = started
    signals.beforeForcedEnd {
      started.send(SIGKILL)
      Self.remove(home)
    }
    try startThread { [result] in
      let status = started.wait()
      result.change { if !$0.isTold { $0.status = status } }
      signals.stop()
    }
  }

  /// Ends the browser, if it runs, and removes its folder.
  func end() {
    if let program { end(program) }
    program = nil
    if let folder { Self.remove(folder) }
    folder = nil
    signals?.beforeForcedEnd(nil)
  }

  private static func remove(_ folder: String) {
    // A process of the browser may still have been writing.
    for _ in 0..<3 {
      let removal = try? ProgramRun("/bin/rm", ["-rf", "--", Argument(folder)], hasGroup: true)
      if removal?.wait() == 0 { return }
    }
    printMessage("offlinecache: \(terminalSafe(folder)) could not be removed; remove it")
  }

  /// Throws if the browser has ended by itself with an error.
  func checkStatus() throws {
    guard let status = result.change({ $0.status }), status != 0 else { return }
    throw ToolError(
      subject: path, problem: "has ended with status \(status)",
      remedy: "see its messages above; --browser takes another one")
  }

  private func end(_ program: ProgramRun) {
    result.change { $0.isTold = true }
    for (signal, seconds) in [(SIGTERM, Self.patience), (SIGKILL, 1)] where program.isRunning {
      program.send(signal)
      for _ in 0..<(seconds * 50) where program.isRunning { usleep(20_000) }
    }
  }

  private static func makeFolder() throws -> String {
    let base = Argument.environment("TMPDIR")?.text ?? "/tmp"
    var template = "\(base)/offlinecache-browse.XXXXXX".utf8.map { CChar(bitPattern: $0) } + [0]
    // Safety: mkdtemp changes the six letters before the zero, and nothing else.
    guard unsafe mkdtemp(&template) != nil else {
      throw ToolError(
        subject: base, problem: "no folder can be made here: \(SystemError(errno))",
        remedy: "set TMPDIR to another one")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns the environment: all of the user's that is not about folders.
  private static func environment(_ home: String) -> [Argument] {
    var changes: [String: String?] = ["HOME": home]
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
      changes[name] = .some(nil)
    }
    // The X server's key is in the user's own HOME by default.
    if Argument.environment("XAUTHORITY") == nil, let own = Argument.environment("HOME")?.text {
      changes["XAUTHORITY"] = "\(own)/.Xauthority"
    }
    return ProgramRun.environment(changes)
  }

  private func switches(_ profile: String, _ proxy: ListenAddress) -> [Argument] {
    guard kind == .chromium else {
      return ["-no-remote", "-profile", Argument(profile)]
    }
    var words = [
      "--user-data-dir=\(profile)", "--proxy-server=http://\(proxy)",
      // Without this, it would go past the proxy to servers on this machine.
      "--proxy-bypass-list=<-loopback>",
      "--no-first-run", "--no-default-browser-check", "--password-store=basic",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      // Neither reports to its maker, nor https in place of what is stored for http.
      "--disable-features=AutofillServerCommunication,HttpsUpgrades,NetworkTimeServiceQuerying",
    ]
    if geteuid() == 0 {
      printMessage(
        "offlinecache: warning: for root the browser runs without its sandbox; be another user if "
          + "you do not trust the pages")
      words.append("--no-sandbox")
    }
    return words.map { Argument($0) }
  }
}
