import HTTPTransports
import Testing

@testable import CurlHTTP

struct PinTests {
  private static let base64 = "LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564="
  private static let colons = Array(repeating: "AB:0F", count: 16).joined(separator: ":")

  @Test("the usual forms of a key are read")
  func keys() throws {
    let pin = try Pin("sha256/\(Self.base64)")
    #expect(pin.subject == .publicKey)
    #expect(pin.digest.first == 0x2C && pin.digest.count == 32)
    #expect(pin.description == "sha256/\(Self.base64)")
    #expect(try Pin("sha256//\(Self.base64)") == pin)
    // One key in 64 has a slash as its first digit.
    let slash = try #require(Pin(.publicKey, digest: [0xFC] + pin.digest.dropFirst()))
    #expect(slash.description.hasPrefix("sha256//"))
    #expect(try Pin(slash.description) == slash)
    #expect(try Pin("sha256//" + slash.description.dropFirst("sha256/".count)) == slash)
    #expect(Pin(.publicKey, digest: pin.digest) == pin)
    #expect(Pin(.certificate, digest: pin.digest) != pin)
  }

  @Test("the usual forms of a certificate are read")
  func certificates() throws {
    let pin = try Pin(Self.colons)
    #expect(pin.subject == .certificate)
    #expect(pin.digest == Array(repeating: [0xAB, 0x0F], count: 16).flatMap { $0 })
    #expect(pin.description == Self.colons)
    #expect(try Pin(Self.colons.lowercased()) == pin)
    #expect(try Pin(Self.colons.filter { $0 != ":" }) == pin)
  }

  @Test(
    "a pin for what is no host is refused: nothing would ever be held against it",
    arguments: ["example.org:443", "https://example.org", "example.org/", "", "a b", "alice@h"])
  func noHost(name: String) throws {
    let pin = try Pin(Self.colons)
    let error = #expect(throws: TransportError.self) {
      try CurlTransport(NetworkSetup(pins: [name: [pin]]))
    }
    #expect(error?.code == .invalidSetup)
    #expect(error?.detail.contains("'\(name)'") == true)
  }

  @Test(
    "a pin may be for a name or an address", arguments: ["Example.ORG", "[::1]", "127.0.0.1"])
  func host(name: String) throws {
    let pin = try Pin(Self.colons)
    _ = try CurlTransport(NetworkSetup(pins: [name: [pin]]))
  }

  @Test(
    "anything else is no pin",
    arguments: [
      "", "sha256/", "sha256/AAAA", "sha1/\(base64)", base64, "sha256/\(base64)=",
      "sha256/ \(base64)", String(colons.dropLast()), colons + ":AB", "\(colons.dropLast(2))ÄB",
      colons.replacing(":", with: "-"), colons.replacing("F", with: "G"),
      String(repeating: "é", count: 32),
    ])
  func garbage(text: String) {
    let error = #expect(throws: PinError.self) { try Pin(text) }
    #expect(error?.description.hasPrefix("'\(text)': ") == true)
  }

  @Test(
    "an invalid pin is reported with the reason",
    arguments: [
      ("sha256/AAAA", "it has 3 bytes in place of the 32 of a SHA-256"),
      ("sha256/*", "what stands behind sha256/ is no Base 64"),
      ("sha1/AAAA", "it does not begin with sha256/, the only digest of keys"),
      ("AB:CD", "it has 4 hexadecimal digits in place of 64, and no sha256/ before it"),
      (
        colons.replacing(":", with: "-"),
        "the digits are not written in pairs with colons between them"
      ),
    ])
  func reason(text: String, problem: String) {
    let error = #expect(throws: PinError.self) { try Pin(text) }
    #expect(error?.problem == problem)
  }
}
