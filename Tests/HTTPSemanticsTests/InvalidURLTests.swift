import HTTPSemantics
import Testing

struct InvalidURLTests {
  @Test(
    "what is no fetchable URL is refused with its cause",
    arguments: [
      ("", InvalidURL.Code.noScheme), ("/a/b", .noScheme), ("example.com/x", .noScheme),
      ("://h/", .noScheme), ("1http://h/", .noScheme), (" http://h/", .noScheme),
      ("ht tp://h/", .noScheme), ("ftp://h/", .unsupportedScheme),
      ("file:///etc/passwd", .unsupportedScheme), ("javascript:alert(1)", .unsupportedScheme),
      ("localhost:8080/x", .unsupportedScheme), ("http:", .noHost), ("http:/", .noHost),
      ("http:a", .noHost), ("http://", .noHost), ("http:///p", .noHost), ("http://?q", .noHost),
      ("http://u:p@/", .noHost), ("http://:80/", .noHost), ("http://a b/", .invalidHost),
      ("http://ä.example/", .invalidHost), ("http://a%20b/", .invalidHost),
      ("http://a%2Fb/", .invalidHost), ("http://%zz/", .invalidHost),
      ("http://good.example\\@evil.example/", .invalidHost), ("http://[::1", .invalidAddress),
      ("http://[::1]x/", .invalidAddress), ("http://[::1%25eth0]/", .invalidAddress),
      ("http://[]/", .invalidAddress), ("http://h:x/", .invalidPort), ("http://h:0/", .invalidPort),
      ("http://h:65536/", .invalidPort), ("http://h:99999999999999999999/", .invalidPort),
      ("http://h:-1/", .invalidPort), ("http://::1/", .noHost),
      ("http://h/a\nb", .controlCharacter),
      ("http://h/\r\nX: y", .controlCharacter), ("http://h/\0", .controlCharacter),
      ("http://h/\u{7F}", .controlCharacter), ("\thttp://h/", .controlCharacter),
    ])
  func refused(text: String, code: InvalidURL.Code) {
    let error = #expect(throws: InvalidURL.self) { try NormalizedURL(text) }
    #expect(error?.code == code)
  }

  @Test("a URL of 64 KiB is taken, one byte more is not, and escapes count")
  func length() throws {
    let room = NormalizedURL.maximumLength - "http://h/".utf8.count
    let longest = try NormalizedURL("http://h/" + String(repeating: "a", count: room))
    #expect(longest.string.utf8.count == NormalizedURL.maximumLength)
    for tail in [String(repeating: "a", count: room + 1), String(repeating: " ", count: room)] {
      let error = #expect(throws: InvalidURL.self) { try NormalizedURL("http://h/" + tail) }
      #expect(error?.code == .tooLong)
    }
  }

  @Test(
    "an error never shows what may be a password",
    arguments: [
      "http://user:secret@h:x/", "http://user:sec/ret@h\n/", "ftp://user:secret@h/",
      "user:secret@h/x", "user:secret//x@h/x",
      "http://user:a@" + String(repeating: "secret", count: 200) + "@h:x/",
    ])
  func noCredentialsInErrors(text: String) {
    let error = #expect(throws: InvalidURL.self) { try NormalizedURL(text) }
    #expect(error?.description.contains("secret") == false)
    #expect(error?.description.contains("sec/ret") == false)
  }

  @Test("an error about a long URL is short and shows no password either")
  func longURLInError() {
    let text = "http://user:secret" + String(repeating: "x", count: 70_000) + "@h/"
    let error = #expect(throws: InvalidURL.self) { try NormalizedURL(text) }
    #expect(error?.url == "http://h/")
  }
}
