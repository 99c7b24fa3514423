import CCurl
import CCurlLibrary
import Testing

@testable import CurlHTTP

@Suite struct CurlFailureTests {
  @Test(
    arguments: [
      ("Unsupported proxy syntax in 'http://pu:PR#OXY@127.0.0.1:3128/'", "127.0.0.1:3128/'"),
      ("no 'socks4x://a/b:PROXY@x@127.0.0.1:1' here", "no 'socks4x://127.0.0.1:1' here"),
      ("http://a b:PROXY y@h", "http://h"), ("see http://h/path", "see http://h/path"),
      ("a@b", "a@b"), ("two\nlines", "two?lines"),
    ])
  func `the text shows neither a log-in nor control characters`(text: String, end: String) {
    let detail = CurlFailure.detail(of: CURLE_COULDNT_RESOLVE_PROXY, text: text)
    #expect(detail.hasSuffix(end) && !detail.contains("PR"), "\(detail)")
  }
}
