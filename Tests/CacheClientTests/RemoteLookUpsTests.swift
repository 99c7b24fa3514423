import ClientTesting
import Testing

@testable import CacheClient

/// `HEAD` and range requests beside a tier: the answers are those of a machine without one.
struct RemoteLookUpsTests {
  private static let body = content(5_000)

  /// An origin that knows `HEAD` and ranges.
  private func origin(_ body: [UInt8] = body) -> ScriptedTransport {
    ScriptedTransport { request in
      var fields = fresh(tag: "a")
      fields.append(HTTPField("Content-Length", "\(body.count)"))
      if request.method == .head {
        return .success(ScriptedTransport.Answer([], fields: fields))
      }
      guard request.fields.contains("Range") else {
        return .success(ScriptedTransport.Answer([body], fields: fields))
      }
      fields.replace(with: HTTPField("Content-Length", "10"))
      fields.append(HTTPField("Content-Range", "bytes 5-14/\(body.count)"))
      return .success(ScriptedTransport.Answer([Array(body[5..<15])], status: 206, fields: fields))
    }
  }

  private let kinds = [
    request(method: "HEAD"), request("/a", [HTTPField("Range", "bytes=5-14")]),
  ]

  @Test("what another machine has answers a HEAD and a range, and the origin is not asked")
  func found() async throws {
    for kind in kinds {
      let (origin, server) = (origin(), MemoryServer())
      let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
      try await one.fetch(request())
      let (bytes, response) = try await two.client.data(for: kind)
      #expect(bytes == (kind.method == .head ? [] : Array(Self.body[5..<15])))
      #expect(response.head.status == (kind.method == .head ? 200 : 206))
      #expect(response.cacheStatus.detail == "remote-hit")
      #expect(origin.requests.count == 1)
    }
  }

  @Test("a miss, and a body too long to be fetched for a part, go to the origin as without a tier")
  func forwarded() async throws {
    let long = content(2 << 20)
    for kind in kinds {
      for isThere in [false, true] {
        let (origin, server) = (origin(long), MemoryServer())
        if isThere { try await TierMachine(origin, server).fetch(request()) }
        let (plain, tiered) = (try ClientSandbox(origin), try TierMachine(origin, server))
        let expected = try await plain.client.data(for: kind)
        let found = try await tiered.client.data(for: kind)
        #expect(found.bytes == expected.bytes)
        #expect(found.response.head.status == expected.response.head.status)
        let sent = origin.requests.suffix(2).map(\.fields)
        #expect(sent[0] == sent[1])
        let reason = isThere ? "remote-too-large" : "remote-absent"
        #expect(found.response.cacheStatus.detail == reason)
        // What is stored of it serves the next request in the same way.
        _ = try await plain.client.data(for: kind)
        let count = origin.requests.count
        _ = try await tiered.client.data(for: kind)
        #expect(origin.requests.count == count + (kind.method == .head ? 1 : 0))
      }
    }
  }

  @Test(
    "a HEAD empties the document if it shows that there is another version",
    arguments: [
      (200, "a", true), (503, "b", true), (405, "b", true), (404, "", true), (200, "b", false),
      (200, "no-store", false),
    ])
  func headOfVersion(status: Int, tag: String, isValid: Bool) async throws {
    let origin = ScriptedTransport { request in
      guard request.method == .head else {
        return .success(ScriptedTransport.Answer("x", fields: fresh(tag: "a")))
      }
      let control = HTTPField("Cache-Control", "public, \(tag)")
      let fields = tag == "no-store" ? [control, HTTPField("ETag", "\"a\"")] : fresh(tag: tag)
      return .success(ScriptedTransport.Answer([], status: status, fields: fields))
    }
    let server = MemoryServer()
    let one = try TierMachine(origin, server)
    try await one.fetch(request())
    let again = HTTPField("Cache-Control", "no-cache")
    try await one.fetch(request("/a", [again], method: "HEAD"))
    #expect(origin.requests.count == 2)
    let answer = try await TierMachine(origin, server).fetch(request())
    #expect(answer.status.contains("remote-hit") == isValid, "\(answer.status)")
  }

  @Test(
    "a 304 empties the document if it forbids storing the response",
    arguments: [
      (HTTPField("Cache-Control", "no-store"), false), (HTTPField("Vary", "*"), false),
      (HTTPField("Cache-Control", "max-age=9"), true),
    ])
  func notModified(field: HTTPField, isShared: Bool) async throws {
    let origin = ScriptedTransport { request in
      let isValid = request.fields.contains("If-None-Match")
      return .success(
        ScriptedTransport.Answer(
          isValid ? "" : "x", status: isValid ? 304 : 200,
          fields: isValid ? [HTTPField("ETag", "\"a\""), field] : fresh(tag: "a")))
    }
    let server = MemoryServer()
    let one = try TierMachine(origin, server)
    try await one.fetch(request())
    try await one.fetch(request(), .revalidate)
    #expect(origin.requests.count == 2)
    let answer = try await TierMachine(origin, server).fetch(request())
    #expect(answer.status.contains("remote-hit") == isShared, "\(answer.status)")
  }

  @Test("answers to them are not offered")
  func notOffered() async throws {
    for kind in kinds {
      let server = MemoryServer()
      let machine = try TierMachine(origin(), server)
      try await machine.fetch(kind)
      #expect(!server.log.contains { $0.hasPrefix("PUT") })
    }
  }

  @Test("what the tier has takes the place of what is in memory only")
  func memoryOnly() async throws {
    let (origin, server) = (origin(), MemoryServer())
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    let old = HTTPResponseHead(status: 200, fields: fresh(1))
    let info = try two.client.store([1], old, for: request(), inMemoryOnly: true).get()
    for machine in [one, two] { machine.sandbox.clock.advance(bySeconds: 60) }
    try await one.fetch(request())
    let (bytes, status) = try await two.fetch(request())
    #expect(bytes == Self.body && status.contains("remote-hit"))
    #expect(!two.client.keepsInMemoryOnly(info))
  }
}
