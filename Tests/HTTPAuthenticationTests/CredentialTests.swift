import Testing

@testable import HTTPAuthentication

struct CredentialTests {
  @Test("credentials do not leak into texts")
  func descriptions() {
    for credential in [Credential.password(user: "u", password: "pass:wörd"), .token("abc.def")] {
      var dumped = ""
      dump(credential, to: &dumped)
      for text in ["\(credential)", String(reflecting: credential), dumped] {
        #expect(!text.contains("pass:wörd") && !text.contains("abc"))
      }
    }
  }
}
