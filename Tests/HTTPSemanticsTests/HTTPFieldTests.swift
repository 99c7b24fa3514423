import Testing

@testable import HTTPSemantics

struct HTTPFieldTests {
  @Test func `every byte is allowed in a value except for those that end or hide it`() {
    for byte in UInt8.min ... .max {
      let isAllowed = byte == 0x09 || byte >= 0x20 && byte != 0x7F
      #expect(HTTPField(name: "A", value: [0x61, byte, 0x61]).isValid == isAllowed, "\(byte)")
    }
    #expect(HTTPField("A", "").isValid)
  }

  @Test(arguments: ["", " ", "a b", "a:", "a\r\n", "(a)", "\"a\"", "ä", "a\0", "a/b", "[a]", "a,b"])
  func `a name that is no token is not valid`(name: String) {
    #expect(!HTTPField.isToken(name))
    #expect(!HTTPField(name, "b").isValid)
    #expect(HTTPField("X-" + name.filter { $0.isLetter && $0.isASCII }, "b").isValid)
  }

  @Test func `bytes that are no text are replaced for people, and escaped in a reference`() {
    let latin = HTTPField(
      name: "Location", value: Array("/caf".utf8) + [0xE9] + Array("%20 x".utf8))
    #expect(latin.text == "/caf\u{FFFD}%20 x")
    #expect(latin.reference == "/caf%E9%20 x")
    #expect(latin.description == "Location: /caf\u{FFFD}%20 x")
    #expect(HTTPField("Location", "/café").reference == "/café")
  }

  @Test func `names are compared without regard to case`() {
    #expect(HTTPField("eTaG", "").isNamed("ETag"))
    #expect(!HTTPField("ETag", "").isNamed("ETags") && !HTTPField("ETag", "").isNamed(""))
    #expect(HTTPField("a", "b") != HTTPField("A", "b"), "but they are kept as they were written")
  }
}
