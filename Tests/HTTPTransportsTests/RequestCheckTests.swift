import Testing
import TransportTesting

@testable import HTTPTransports

struct RequestCheckTests {
  private func fault(
    _ method: String = "POST", _ fields: HTTPFields = [], _ body: RequestBody? = nil
  ) throws -> String? {
    let url = try NormalizedURL("http://a.test/")
    return RequestCheck.fault(
      in: HTTPRequest(method: HTTPMethod(rawValue: method), url: url, fields: fields), body)
  }

  @Test(arguments: ["", "G ET", "GET\r\n", "CONNECT"])
  func `a method that is no token, or asks for a tunnel, is not sent`(method: String) throws {
    #expect(try fault(method) != nil)
    #expect(try fault("get") == nil)
  }

  @Test func `a field that would be two, and a second Host, are not sent`() throws {
    #expect(try fault("GET", [HTTPField("A", "b\r\nC: d")]) != nil)
    #expect(try fault("GET", [HTTPField("A b", "c")]) != nil)
    #expect(try fault("GET", [HTTPField("Host", "a"), HTTPField("host", "a")]) != nil)
    #expect(try fault("GET", [HTTPField("Host", "a"), HTTPField("A", "b")]) == nil)
  }

  @Test(arguments: ["HEAD", "TRACE"])
  func `a request that has no content is not sent with some`(method: String) throws {
    #expect(try fault(method, [], .bytes([1])) != nil)
    #expect(try fault(method, [], .bytes([])) == nil)
    #expect(try fault("GET", [], .bytes([1])) == nil)
  }

  @Test(
    arguments: [
      ("NTLM abc", true), ("negotiate abc", true), ("Basic TlRMTQ==", false),
      ("Bearer ntlm", false),
    ])
  func `a log-in of the connection is known by its scheme`(value: String, logsIn: Bool) {
    #expect(RequestCheck.logsConnectionIn([HTTPField("authorization", value)]) == logsIn)
    #expect(!RequestCheck.logsConnectionIn([]))
  }

  @Test func `HEAD and TRACE have no body, CONNECT is no exchange, a Host stands once`()
    async throws
  {
    let origin = try LoopbackOrigin.echo()
    let url = try origin.address().string
    let two: HTTPFields = [HTTPField("Host", "a"), HTTPField("host", "a")]
    let body = RequestBody.bytes([1])
    let requests: [(String, RequestBody?, HTTPFields)] = [
      ("HEAD", body, []), ("TRACE", body, []), ("CONNECT", nil, []), ("GET", nil, two),
      ("PUT", .stream(length: 1 << 63, ScriptedSource.of([])), []),
      ("PUT", nil, [HTTPField("Expect", "100-continue\r\nX: y")]),
    ]
    for (method, body, fields) in requests {
      let error = await #expect(throws: TransportError.self) {
        try await origin.send(body, method: method, fields: fields)
      }
      #expect(error == TransportError(.invalidRequest, url: url))
    }
    #expect(origin.requests.isEmpty)
  }
}
