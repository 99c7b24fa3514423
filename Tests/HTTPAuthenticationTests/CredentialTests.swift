import Testing

@testable import HTTPAuthentication

struct CredentialTests {
  @Test("credentials do not leak into texts")
  func descriptions() {
    for credential in [Credential.password(user: "u", password: "pass:wörd"), .token("abc.def")] {
      for value: Any in [credential, credential.secret, CredentialAnswer.use(credential)] {
        var dumped = ""
        dump(value, to: &dumped)
        for text in ["\(value)", String(reflecting: value), dumped] {
          #expect(!text.contains("pass:wörd") && !text.contains("abc"))
        }
      }
    }
  }
}
