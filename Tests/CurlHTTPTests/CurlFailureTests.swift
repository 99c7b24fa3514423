import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransports
import Testing

@testable import CurlHTTP

#if os(Linux)
  import Glibc
#endif

@Suite struct CurlFailureTests {
  @Test(
    arguments: [
      ("Unsupported proxy syntax in 'http://pu:PR#OXY@127.0.0.1:3128/'", "127.0.0.1:3128/'"),
      ("no 'socks4x://a/b:PROXY@x@127.0.0.1:1' here", "no 'socks4x://127.0.0.1:1' here"),
      ("Unsupported proxy syntax in 'pu:PR@OXY@host:999999'", "in 'host:999999'"),
      ("Unsupported proxy syntax in 'pu:PR://OXY@host:999999'", "in 'host:999999'"),
      ("Unsupported proxy syntax in 'PR'OXY:x@host:999999'", "in 'host:999999'"),
      ("http://a b:PROXY y@h", "http://h"), ("see http://h/path", "see http://h/path"),
      ("a@b", "a@b"), ("two\nlines", "two?lines"),
    ])
  func `the text shows neither a log-in nor control characters`(text: String, end: String) {
    let detail = CurlFailure.detail(of: CURLE_COULDNT_RESOLVE_PROXY, text: text)
    #expect(detail.hasSuffix(end) && !detail.contains("PR"), "\(detail)")
  }

  #if os(Linux)
    @Test func `no descriptors left is an error that says so`() async {
      await #expect(processExitsWith: .success) {
        let transport = try CurlTransport()
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        // Safety: both calls take the local.
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = 3
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let request = HTTPRequest(url: try NormalizedURL("http://127.0.0.1:9/"))
        let error = await #expect(throws: TransportError.self) {
          try await transport.send(
            request, body: nil, options: TransportOptions(), onInterim: { _ in })
        }
        #expect(error?.code == .cannotConnect)
        #expect(error?.detail.hasSuffix(": Too many open files") == true)
      }
    }
  #endif
}
