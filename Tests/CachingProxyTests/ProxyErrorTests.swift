import CachingProxy
import Testing

struct ProxyErrorTests {
  private static let codes: [ProxyError.Code] = [
    .addressInUse, .addressNotAvailable, .permissionDenied, .log, .certificate, .authority,
    .openAuthority, .system,
  ]

  @Test func `each error names its subject, the problem and what to do`() {
    let texts = Self.codes.map { "\(ProxyError($0, subject: "s"))" }
    #expect(Set(texts).count == texts.count)
    for text in texts {
      #expect(text.hasPrefix("s: ") && text.contains("; ") && text.last != ".", "\(text)")
    }
    #expect("\(ProxyError(.log, subject: "s", detail: "d"))".contains("opened (d); "))
  }

  @Test func `errors are equal by code and subject`() {
    let error = ProxyError(.log, subject: "s", detail: "d")
    #expect(error == ProxyError(.log, subject: "s", detail: "e"))
    #expect(error.hashValue == ProxyError(.log, subject: "s").hashValue)
    #expect(error != ProxyError(.log, subject: "t") && error != ProxyError(.system, subject: "s"))
  }
}
