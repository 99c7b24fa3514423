import HTTPSemantics
import HTTPTransport
import Testing

@testable import CurlTransport

struct ContentCodingTests {
  private static let text = String(repeating: "The quick brown fox. ", count: 50)
  private static let gzip: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0B, 0xC9, 0x48, 0x55, 0x28, 0x2C,
    0xCD, 0x4C, 0xCE, 0x56, 0x48, 0x2A, 0xCA, 0x2F, 0xCF, 0x53, 0x48, 0xCB, 0xAF, 0xD0, 0x53, 0x08,
    0x19, 0x15, 0x1C, 0x15, 0x1C, 0x15, 0x1C, 0xD9, 0x82, 0x00, 0xEF, 0x9A, 0x81, 0x58, 0x1A, 0x04,
    0x00, 0x00,
  ]

  private func origin(_ body: [UInt8] = gzip) throws -> Origin {
    try Origin { _, connection in connection.answer(body, fields: ["Content-Encoding: gzip"]) }
  }

  @Test("a coding is offered and taken off, and the answer says so")
  func decoded() async throws {
    let origin = try origin()
    let (response, body) = try await makeTransport().fetch(origin.url())
    #expect(body == Self.text)
    #expect(response.isDecoded)
    #expect(response.head.fields.first(named: "content-encoding")?.text == "gzip")
    #expect(origin.requests.first?.value(of: "Accept-Encoding")?.contains("gzip") == true)
  }

  @Test("the raw body is handed over on request, and no coding is offered")
  func raw() async throws {
    let origin = try origin()
    var options = patient
    options.rawBody = true
    let response = try await makeTransport().send(
      HTTPRequest(url: origin.url()), options: options)
    #expect(try await response.body.readAll() == Self.gzip)
    #expect(!response.isDecoded)
    #expect(origin.requests.first?.value(of: "Accept-Encoding") == nil)
  }

  @Test(
    "a request for a range or with codings of its own gets the raw body",
    arguments: [HTTPField("Range", "bytes=0-"), HTTPField("Accept-Encoding", "gzip")])
  func rawByField(field: HTTPField) async throws {
    let origin = try origin()
    let response = try await makeTransport().send(
      HTTPRequest(url: origin.url(), fields: [field]), options: patient)
    #expect(try await response.body.readAll() == Self.gzip)
    #expect(!response.isDecoded)
  }

  @Test("identity is no coding")
  func identity() async throws {
    let origin = try Origin { _, connection in
      connection.answer("plain", fields: ["Content-Encoding: identity"])
    }
    let (response, body) = try await makeTransport().fetch(origin.url())
    #expect(body == "plain")
    #expect(!response.isDecoded)
  }

  @Test("a coded body with a wrong checksum is an error")
  func wrongChecksum() async throws {
    var damaged = Self.gzip
    damaged[43] ^= 1
    let origin = try origin(damaged)
    let url = try origin.url()
    #expect(
      await (try makeTransport()).failure(url)
        == TransportError(.badContentEncoding, url: url.string))
  }
}
