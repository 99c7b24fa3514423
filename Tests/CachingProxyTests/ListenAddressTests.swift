import Testing

@testable import CachingProxy

@Suite("Listen addresses") struct ListenAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1:8080", "127.0.0.1", 8080), ("localhost:0", "localhost", 0),
      ("[::1]:65535", "::1", 65535), ("[::]:80", "::", 80),
    ] as [(String, String, UInt16)])
  func `are read and written the same way`(text: String, host: String, port: UInt16) {
    let address = ListenAddress(text)
    #expect(address == ListenAddress(host: host, port: port))
    #expect(address?.description == text)
  }

  @Test(arguments: [
    "", "8080", ":8080", "host", "host:", "host:65536", "host:-1", "host:+1", "::1:80", "[host]:80",
    "[]:80", "ho st:80", "host:8 0", "h\u{e9}:80",
  ])
  func `that are none are not read`(text: String) {
    #expect(ListenAddress(text) == nil)
  }
}
