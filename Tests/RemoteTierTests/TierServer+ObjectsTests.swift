import CacheFormat
import ClientTesting
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(1)))
struct TierServerObjectsTests {
  private let name = ObjectName.document(of: "k", in: "default")

  /// Gets a document, and returns it in words.
  private func document(
    _ answer: ScriptedTransport.Answer, unless tag: String? = nil
  ) async throws -> String {
    try await document(ScriptedTransport(answer), unless: tag)
  }

  private func document(
    _ transport: ScriptedTransport, unless tag: String? = nil
  ) async throws -> String {
    let server = try Machine.server(transport) { $0.maximumLookUps = 1 }
    do throws(RemoteReason) {
      let text: String
      switch try await server.document(name, unless: tag) {
      case .bytes(let bytes, let tag): text = "\(bytes.count) \(tag ?? "-")"
      case .unchanged: text = "unchanged"
      case .absent: text = "absent"
      }
      _ = try? await server.document(name)
      return text
    } catch {
      #expect(await lookUpIsOver(server))
      return "\(error)"
    }
  }

  /// Returns whether another look-up may run.
  private func lookUpIsOver(_ server: TierServer) async -> Bool {
    do throws(RemoteReason) {
      _ = try await server.send(.reading, "GET", "x")
      return true
    } catch { return error != .busy }
  }

  @Test func `a document is there, is not, or has not changed`() async throws {
    #expect(try await document(.init("abc")) == "3 -")
    #expect(try await document(.init("", fields: [HTTPField("ETag", "\"x\"")])) == "0 \"x\"")
    for status in [404, 410] {
      #expect(try await document(.init("no", status: status)) == "absent")
    }
    #expect(try await document(.init(status: 304), unless: "\"x\"") == "unchanged")
    #expect(try await document(.init(status: 304)) == "remote-server-error")
    for status in [201, 202, 204, 206, 409, 412] {
      #expect(try await document(.init(status: status)) == "remote-server-error")
    }
  }

  @Test func `a document may have 4 MiB, and not a byte more`() async throws {
    let most = SharedDocument.maximumBytes
    let half = [UInt8](repeating: 1, count: most / 2)
    let last = [UInt8](repeating: 1, count: most - most / 2)
    #expect(try await document(.init([half, last])) == "\(most) -")
    #expect(try await document(.init([half, last, [1]])) == "remote-bad-document")
    #expect(try await document(.init([half, last + [1]])) == "remote-bad-document")
    // A length beyond that is not read at all.
    for length in ["\(most + 1)", "9223372036854775807"] {
      let transport = ScriptedTransport(
        .init([[1]], fields: [HTTPField("Content-Length", length)]))
      #expect(try await document(transport) == "remote-bad-document")
      #expect(transport.bodies[0].isCancelled && transport.bodies[0].taken == 0)
    }
  }

  @Test func `a request for a document passes caches, and has the tag of the known one`()
    async throws
  {
    let transport = ScriptedTransport(.init())
    _ = try await document(transport, unless: "\"x\"")
    let fields = try #require(transport.requests.first).fields
    #expect(fields.first(named: "Cache-Control")?.text == "no-cache")
    #expect(fields.first(named: "If-None-Match")?.text == "\"x\"")
    #expect(transport.requests[1].fields.first(named: "If-None-Match") == nil)
  }

  @Test(
    arguments: [
      (200, "5", .whole), (200, nil, .whole), (200, "4", .otherLength), (200, "6", .otherLength),
      (404, "5", .absent), (410, nil, .absent), (204, "5", .absent),
    ] as [(Int, String?, TierServer.Presence)])
  func `a body is there with its length, with another one, or not`(
    status: Int, length: String?, expected: TierServer.Presence
  ) async throws {
    let fields: HTTPFields = length.map { [HTTPField("Content-Length", $0)] } ?? []
    let server = try Machine.server(ScriptedTransport(.init(status: status, fields: fields)))
    #expect(try await server.presence(of: .body([]), length: 5) == expected)
  }

  @Test(
    arguments: [
      (200, true), (201, true), (202, true), (204, true), (409, true), (412, true), (404, false),
      (410, false), (304, false),
    ])
  func `a server that takes nothing, and says so in an unusual way, is left alone`(
    status: Int, isGood: Bool
  ) async throws {
    let transport = ScriptedTransport(.init(status: status))
    let server = try Machine.server(transport)
    for _ in 0..<Breaker.failuresInRow {
      #expect(try await server.put(name, [1], condition: nil) == status)
    }
    #expect(server.statistics.writing == (isGood ? "closed" : "open"))
    // It is put twice where folders may be missing.
    #expect(transport.uploads == Array(repeating: [1], count: status == 409 ? 6 : 3))
  }

  @Test func `an object has its type and its condition`() async throws {
    let transport = ScriptedTransport(.init())
    let server = try Machine.server(transport)
    _ = try await server.put(name, [1], condition: HTTPField("If-Match", "\"x\""))
    _ = try await server.put(.body([7]), length: 1, digest: [7], condition: nil) { .bytes([2]) }
    let fields = transport.requests.map(\.fields)
    #expect(
      fields.map { $0.first(named: "Content-Type")?.text } == [
        "application/json", "application/octet-stream",
      ])
    #expect(fields.map { $0.first(named: "If-Match")?.text } == ["\"x\"", nil])
  }

  @Test func `folders are made from the outside to the inside, and not where there are none`()
    async throws
  {
    func requests(
      _ status: Int, access: RemoteServer.Access = .open
    ) async throws -> [String] {
      let transport = ScriptedTransport {
        .success(.init("x", status: $0.method.description == "PUT" ? 409 : status))
      }
      let server = try Machine.server(transport, access: access)
      #expect(try await server.put(.body([7]), [1], condition: nil) == 409)
      #expect(server.refusal(of: .writing) == nil, "\(status)")
      return transport.requests.map { "\($0.method) \($0.url.target)" }
    }
    let put = "PUT /team/\(ObjectName.body([7]).path)"
    for status in [201, 405, 409, 403, 501] {
      #expect(
        try await requests(status)
          == [put, "MKCOL /team/", "MKCOL /team/cas/", "MKCOL /team/ac/", put])
    }
    let credentials = S3Credentials(region: "r", accessKey: "a", secretKey: "s")
    #expect(try await requests(201, access: .s3(credentials)) == [put, put])
  }

  @Test func `a document without an end is not read to its end`() async throws {
    let piece = [UInt8](repeating: 1, count: SharedDocument.maximumBytes)
    let scripted = ScriptedTransport(.init([piece, piece, piece, piece]))
    #expect(try await document(scripted) == "remote-bad-document")
    #expect(scripted.bodies.first?.taken == 2)
  }
}
