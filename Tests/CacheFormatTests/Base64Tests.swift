import Testing

@testable import CacheFormat

@Suite struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `the test vectors of RFC 4648, section 10, pass both ways`(plain: String, coded: String) {
    #expect(Base64.encode(Array(plain.utf8)) == coded)
    #expect(Base64.decode(Array(coded.utf8)) == Array(plain.utf8))
  }

  @Test func `all bytes pass both ways`() {
    let bytes = (0...255).map { UInt8($0) }
    for count in 0...bytes.count {
      let text = Base64.encode(Array(bytes[..<count]))
      #expect(Base64.decode(Array(text.utf8)) == Array(bytes[..<count]))
    }
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Z===", "====", "=", "Zh==", "Zm9=", "Zm9v=", "Zg==Zg==", "Zm9-", "Zm 9",
    "Zm8=\n", "Z=g=", "Zm\u{e9}",
  ])
  func `what is not canonical is refused`(text: String) {
    #expect(Base64.decode(Array(text.utf8)) == nil)
  }
}
