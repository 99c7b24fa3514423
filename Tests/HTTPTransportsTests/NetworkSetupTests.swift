import HTTPTransports
import Testing

@Suite struct NetworkSetupTests {
  private func pin(_ byte: UInt8) throws -> Pin {
    try Pin(String(repeating: String(byte, radix: 16), count: 64))
  }

  @Test func `a proxy may be set`() {
    #expect(!NetworkSetup(proxy: .none).mayUseProxy)
    #expect(NetworkSetup(proxy: .url("http://192.0.2.1:3128")).mayUseProxy)
  }

  @Test(arguments: [
    (NetworkSetup.Proxy.none, [:], false), (.url("https://h:1"), [:], true),
    (.url("HTTPS://h:1"), [:], true), (.url("http://h:1"), [:], false), (.url("h"), [:], false),
    (.environment, [:], false), (.environment, ["http_proxy": "h"], false),
    (.environment, ["ALL_PROXY": "https://h"], true), (.none, ["https_proxy": "https://h"], false),
  ])
  func `a proxy may be encrypted`(proxy: NetworkSetup.Proxy, variables: [String: String], is: Bool)
  {
    #expect(NetworkSetup(proxy: proxy).mayEncryptProxy { variables[$0] } == `is`)
  }

  @Test func `pins are found in any spelling of the host, and those of one host are joined`() throws
  {
    let (one, two) = (try pin(1), try pin(2))
    var setup = NetworkSetup(pins: ["Example.org": [one], "example.org.": [two]])
    #expect(setup.fault == nil)
    #expect(setup.pins(of: "example.org") == [one, two])
    #expect(setup.pins(of: "example.org.") == [one, two])
    #expect(setup.pins(of: "www.example.org") == nil)
    setup.pins["OTHER.test"] = [one]
    #expect(setup.pins(of: "other.test") == [one])
    setup.pins = [:]
    #expect(setup.pins(of: "example.org") == nil)
  }

  @Test(arguments: [
    "", ".", "*.example.org", "*", "example.org:443", "https://example.org", "example.org/",
    "user@example.org", "a b", "ü.test", "[::1", "::1", "a\0b", "example.org?", "#",
  ])
  func `a pin that would never be checked is a fault`(host: String) throws {
    let setup = NetworkSetup(pins: [host: [try pin(1)]])
    #expect(setup.fault?.code == .invalidSetup)
  }

  @Test(arguments: [
    "example.org", "EXAMPLE.org", "127.0.0.1", "[::1]", "xn--tda.test", "localhost", "a_b.test",
  ])
  func `a pin of a host is none`(host: String) throws {
    #expect(NetworkSetup(pins: [host: [try pin(1)]]).fault == nil)
  }

  @Test(arguments: [
    ("http://p:1", true), ("HTTPS://p:1", true), ("socks5h://p:1", true), ("p:1", true),
    ("ftp://p:1", false), ("://p:1", false), ("quic://user:secret@p:1", false),
    (" http://p", false),
  ])
  func `a proxy of another scheme is a fault, which shows no password`(url: String, isGood: Bool) {
    for except in [nil, "a.test"] {
      let fault = NetworkSetup(proxy: .url(url, except: except)).fault
      #expect((fault == nil) == isGood, "\(url)")
      #expect(fault?.description.contains("secret") != true)
    }
  }

  @Test(arguments: [
    ("http://u:PR@OXY@proxy.test:1", "http://proxy.test:1"), ("u:PR://OXY@h:1", "h:1"),
    ("socks5h://h:1", "socks5h://h:1"), ("h:1", "h:1"),
  ])
  func `a dump does not show the log-in for a proxy`(url: String, shown: String) {
    let setup = NetworkSetup(proxy: .url(url, except: "a.test"))
    var text = "\(setup.proxy) \(setup)"
    dump(setup, to: &text)
    #expect(!text.contains("PR") && !text.contains("u:"), "\(text)")
    #expect(text.contains("\"\(shown)\"") && text.contains("a.test"), "\(text)")
  }
}
