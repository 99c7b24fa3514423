import Testing

@testable import CommandLineTools

struct ArgumentTests {
  @Test(arguments: [
    ("http://user:secret@host/x", "http://...@host/x"), ("http://host/x", "http://host/x"),
    ("https://a@b@host", "https://...@host"), ("user:secret@host", "...@host"),
    ("user@host", "user@host"), ("", ""), ("@", "@"), ("://u:p@h", "://...@h"), (":@", "...@"),
    ("host/path:x@y", "...@y"), ("ftp://u:p@h/a@b", "ftp://...@b"),
  ])
  func `what may be a password is not shown`(text: String, shown: String) {
    #expect(Argument(text).withoutCredentials == Argument(shown))
  }

  @Test func `bytes that are no text are kept, and shown so that they steer no terminal`() {
    let argument = Argument(bytes: [0x61, 0xFF, 0x1B, 0x0A])
    #expect(argument.text == nil && argument.bytes.count == 4)
    #expect(argument.description.utf8.allSatisfy { $0 >= 0x20 })
    #expect(Argument("ä").text == "ä" && Argument("ä") == "ä")
  }

  @Test func `a variable that is not set has no value`() {
    #expect(Argument.environment("OFFLINECACHE_TEST_NO_SUCH_VARIABLE") == nil)
    #expect(Argument.environment("PATH")?.bytes.isEmpty == false)
  }
}
