import Foundation
import HTTPSemantics
import TestSupport
import Testing
import ToolTesting

@testable import CachingProxy

/// Looks at the status page with headless Chromium, where there is one; `Tools/browse` looks closer.
@Suite struct StatusBrowserTests {
  private static let browser = ["chromium", "chromium-browser", "google-chrome"]
    .map { "/usr/bin/\($0)" }.first(where: FileManager.default.isExecutableFile)
  private static let hostile = "http://origin.test/\"><script>document.title='taken'</script>"

  @Test(
    .enabled(if: browser != nil, "there is no Chromium in /usr/bin; install the package chromium"),
    .timeLimit(.minutes(2)))
  func `A browser shows the page, runs its script, and none of a URL`() async throws {
    let tested = try StatusUnderTest()
    for number in 0..<30 {
      tested.status.answered(Sample.record(url: "http://origin.test/page-\(number)"))
    }
    tested.status.answered(
      Sample.record(
        url: Self.hostile, status: 504, nil, source: .proxy, reason: "<b>offline</b> & empty"))
    try tested.put("http://origin.test/page-1", length: 1000)
    let status = tested.status
    let dom = try await withServer(ScriptedBackend(), pages: status, observers: [status]) {
      port, _ in
      try await onThread { try Self.dom("http://127.0.0.1:\(port)/.offlinecache/") }
    }
    #expect(dom.contains("<title>96.8 % hits \u{B7} OfflineCache</title>"))
    #expect(dom.contains("&lt;b&gt;offline&lt;/b&gt; &amp; empty"))
    #expect(dom.components(separatedBy: "<script").count == 2)
    #expect(dom.contains("/page-29</span>"))
    // The script has run, so the policy admits it: the button is there for those alone who have it.
    let button = try #require(dom.firstRange(of: /<button[^>]*id="live"[^>]*>/))
    #expect(!dom[button].contains("hidden"))
    #expect(!dom.contains("class=\"lost\""))
  }

  /// The DOM of a page once it and its script are loaded.
  private static func dom(_ url: String) throws -> String {
    let profile = TemporaryFolder()
    let errors = try openFile("/dev/null", O_WRONLY)
    defer { close(errors) }
    let (status, output) = try Child.run(
      try #require(browser),
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--user-data-dir=\(profile.path)", "--dump-dom", url,
      ], errors: errors)
    #expect(status == 0)
    return output
  }

  @Test func `A page of the proxy brings its policy to the client`() async throws {
    let tested = try StatusUnderTest()
    let reading = try await withServer(ScriptedBackend(), pages: tested.status) { port, _ in
      try await exchange(port, "GET /.offlinecache/?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }
    #expect(reading.status == 200)
    #expect(reading.field("Content-Security-Policy")?.hasPrefix("default-src 'none'; ") == true)
    #expect(reading.field("Cache-Control") == "no-store")
  }
}
