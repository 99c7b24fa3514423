import CacheFormat
import HTTPSemantics
import Testing

@testable import RemoteTier

struct S3CredentialsTests {
  @Test("a request is signed as botocore 1 signs it")
  func signature() throws {
    // From botocore.auth.S3SigV4Auth, with this time.
    for (token, expected) in [
      (nil, "45ca9ff6cf47797a3af7704d5609173097116ea11fcb6a1765a328a51f413f58"),
      ("tok/en+=", "abe662985c2fbbc8a48f40f2fdb62ca4ab334677ab268fb6be84f58170ece6b1"),
    ] as [(String?, String)] {
      let credentials = S3Credentials(
        region: "eu-central-1", accessKey: "AKIDEXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token)
      var request = HTTPRequest(
        method: HTTPMethod(rawValue: "PUT"),
        url: try NormalizedURL(
          "http://localhost:9000/bucket/a+b=c~d%20e/cas/" + String(repeating: "ab", count: 32)))
      credentials.sign(
        &request, contentDigest: String(repeating: "cd", count: 32),
        at: Timestamp(nanoseconds: 1_769_903_999_000_000_000))
      #expect(request.fields.first(named: "x-amz-date")?.text == "20260131T235959Z")
      #expect(request.fields.first(named: "Authorization")?.text.hasSuffix(expected) == true)
    }
  }

  @Test("the port of the scheme is not part of the host")
  func defaultPort() throws {
    let credentials = S3Credentials(
      region: "eu-central-1", accessKey: "AKIDEXAMPLE",
      secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    for base in ["https://b.example", "https://b.example:443", "http://b.example:80"] {
      let path = "/bucket/a+b=c~d%20e/cas/" + String(repeating: "ab", count: 32)
      var request = HTTPRequest(
        method: HTTPMethod(rawValue: "PUT"), url: try NormalizedURL(base + path))
      credentials.sign(
        &request, contentDigest: String(repeating: "cd", count: 32),
        at: Timestamp(nanoseconds: 1_769_903_999_000_000_000))
      let expected = "9cab678cdf865058beda4d7845568206614ce2a475ed9589a3713912b1d081bd"
      #expect(request.fields.first(named: "Authorization")?.text.hasSuffix(expected) == true)
    }
  }

  @Test("an escaped slash stays escaped")
  func slash() {
    #expect(S3Credentials.canonicalPath("/a/b%2fc%41=") == "/a/b%2FcA%3D")
  }
}
