import HTTPSemantics
import HTTPTransport
import Testing

@testable import CurlTransport

struct RedirectTests {
  /// Sends `/n` to `/n-1` down to `/0`, and `/loop` to itself.
  private func origin() throws -> Origin {
    try Origin { request, connection in
      let path = request.target.dropFirst()
      switch Int(path) {
      case 0: connection.answer("end", fields: ["X-Last: 1"])
      case let number?:
        connection.answer(
          "moved", status: "302 Found", fields: ["Location: /\(number - 1)", "X-Hop: 1"])
      case nil: connection.answer("", status: "301 Moved", fields: ["Location: /\(path)"])
      }
    }
  }

  @Test("redirects are followed, and only the last head and body count")
  func followed() async throws {
    let origin = try origin()
    let (response, body) = try await makeTransport().fetch(origin.url("/3"))
    #expect(body == "end")
    #expect(response.head.status == 200)
    #expect(response.head.fields.map(\.name) == ["Content-Length", "X-Last"])
    #expect(try response.url == origin.url("/0"))
    #expect(origin.requests.map(\.target) == ["/3", "/2", "/1", "/0"])
  }

  @Test("the greatest number of redirects is allowed, one more is an error", arguments: [0, 1, 3])
  func maximum(maximum: Int) async throws {
    let origin = try origin()
    let transport = try makeTransport()
    var options = patient
    options.redirects = .followed(maximum: maximum)
    #expect(try await transport.fetch(origin.url("/\(maximum)"), options: options).body == "end")
    let url = try origin.url("/\(maximum + 1)")
    #expect(
      await transport.failure(url, options: options)
        == TransportError(.tooManyRedirects, url: url.string))
  }

  @Test("a loop is an error")
  func loop() async throws {
    let origin = try origin()
    let url = try origin.url("/loop")
    #expect(
      await (try makeTransport()).failure(url)
        == TransportError(.tooManyRedirects, url: url.string))
    #expect(origin.requests.count == 21)
  }

  @Test("a redirect is handed over on request")
  func returned() async throws {
    let origin = try origin()
    var options = patient
    options.redirects = .returned
    let (response, body) = try await makeTransport().fetch(origin.url("/3"), options: options)
    #expect(response.head.status == 302)
    #expect(response.head.fields.first(named: "location")?.text == "/2")
    #expect(body == "moved")
    #expect(try response.url == origin.url("/3"))
  }

  @Test("a redirect of a POST is handed over, as repeating it is the caller's decision")
  func post() async throws {
    let origin = try origin()
    let response = try await makeTransport().send(
      HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: origin.url("/3")), options: patient)
    #expect(response.head.status == 302)
    #expect(origin.requests.map(\.method) == ["POST"])
  }

  @Test(
    "a 3xx answer that leads nowhere is the answer", arguments: ["", "Location:\r\n"])
  func nowhere(field: String) async throws {
    let origin = try Origin { _, connection in
      connection.send("HTTP/1.1 300 Choices\r\n\(field)Content-Length: 4\r\n\r\nlist")
    }
    let (response, body) = try await makeTransport().fetch(origin.url())
    #expect(response.head.status == 300)
    #expect(body == "list")
  }

  @Test(
    "a redirect never leaves http and https",
    arguments: [
      "file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "dict://127.0.0.1/x",
    ])
  func otherSchemes(location: String) async throws {
    let origin = try Origin { _, connection in
      connection.answer("", status: "302 Found", fields: ["Location: \(location)"])
    }
    let url = try origin.url()
    #expect(
      await (try makeTransport()).failure(url)
        == TransportError(.unsupportedScheme, url: url.string))
  }

  @Test("a redirect's credentials do not show in the URL that answered")
  func credentials() async throws {
    let origin = try Origin { request, connection in
      guard request.target == "/" else { return connection.answer("end") }
      let host = request.value(of: "Host") ?? ""
      connection.answer("", status: "302", fields: ["Location: http://u:secret@\(host)/to"])
    }
    let (response, body) = try await makeTransport().fetch(origin.url())
    #expect(body == "end")
    #expect(try response.url == origin.url("/to"))
  }

  @Test("credentials do not follow a redirect to another host")
  func authorization() async throws {
    let other = try Origin { _, connection in connection.answer("other") }
    let target = try other.url("/to").string
    let origin = try Origin { _, connection in
      connection.answer("", status: "302 Found", fields: ["Location: \(target)"])
    }
    let fields: HTTPFields = [HTTPField("Authorization", "Basic c2VjcmV0"), HTTPField("X-A", "1")]
    let (response, _) = try await makeTransport().fetch(origin.url(), fields: fields)
    #expect(response.url.string == target)
    #expect(origin.requests.first?.value(of: "Authorization") == "Basic c2VjcmV0")
    #expect(other.requests.count == 1)
    #expect(other.requests.first?.value(of: "Authorization") == nil)
    #expect(other.requests.first?.value(of: "X-A") == "1")
  }

  @Test("trailers of a redirect are not those of the answer")
  func trailers() async throws {
    let origin = try Origin { request, connection in
      let isFirst = request.target == "/"
      connection.send(isFirst ? "HTTP/1.1 302 Found\r\nLocation: /to\r\n" : "HTTP/1.1 200 OK\r\n")
      connection.send("Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
      connection.send(isFirst ? "X-First: 1\r\n\r\n" : "X-Second: 2\r\n\r\n")
    }
    let (response, body) = try await makeTransport().fetch(origin.url())
    #expect(body == "x")
    #expect(response.body.trailers == [HTTPField("X-Second", "2")])
  }
}
