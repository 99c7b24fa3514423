import Testing

@testable import HTTPUploads

struct URLEncodedFormTests {
  @Test func `names and values are encoded as browsers do it, in their order`() async throws {
    var form = URLEncodedForm([.init("a", "1"), .init("a", "x y+z"), .init("", "")])
    form.add("näme&=", "ü/€😀*-._~\r\n%\u{0}")
    #expect(
      form.encoded == "a=1&a=x+y%2Bz&=&n%C3%A4me%26%3D="
        + "%C3%BC%2F%E2%82%AC%F0%9F%98%80*-._%7E%0D%0A%25%00")
    #expect(form.body.contentType == "application/x-www-form-urlencoded")
    #expect(try await form.body.readText() == form.encoded)
    #expect(URLEncodedForm().encoded == "")
  }
}
