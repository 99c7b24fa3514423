import HTTPTransports
import Testing

@testable import CurlHTTP

@Suite struct ConnectHandleTests {
  @Test
  func `the proxy for tunnels is that of the environment for https, or the one that is given`() {
    let variables = ["https_proxy": "", "HTTPS_PROXY": "http://a:1", "all_proxy": "http://b:2"]
    #expect(TunnelProxy(.environment) { variables[$0] }.url == "http://a:1")
    #expect(TunnelProxy(.environment) { _ in nil }.isUsed == false)
    #expect(TunnelProxy(.none).isUsed == false)
    #expect(TunnelProxy(.url("")).isUsed == false)
    #expect(TunnelProxy(.url("HTTPS://a:1")).isEncrypted)
  }
}
