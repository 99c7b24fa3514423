import ClientTesting
import ContentCoding
import Foundation
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5))) struct WholeBodyTests {
  private typealias Answer = ScriptedTransport.Answer

  @Test func `a body longer than the caller's limit is an error and ends the transfer`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer(pieces([100, 100]), fields: fresh()))
    let error = await #expect(throws: ClientError.self) {
      try await sandbox.client.data(for: request(), limit: 199)
    }
    #expect(error == ClientError(.tooLarge(limit: 199), url: request().url.string))
    #expect(sandbox.transport.bodies.first?.isCancelled == true)
    #expect(try await sandbox.client.data(for: request(), limit: 200).bytes.count == 200)
  }

  @Test(arguments: [[5], [70_000], [300_000]])
  func `the bytes of a stored body are to be had at once, up to a limit`(sizes: [Int]) async throws
  {
    let body = pieces(sizes)
    let whole = Array(body.joined())
    let sandbox = try ClientSandbox(ScriptedTransport(Answer(body, fields: fresh())))
    let network = try await sandbox.client.fetch(request())
    #expect(try network.storedBytes() == nil)
    #expect(try await sandbox.client.wholeBody(of: network) == whole)
    let stored = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(try stored.storedBytes() == whole)
    #expect(try stored.storedBytes() == [])
    let again = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(throws: ClientError(.tooLarge(limit: 4), url: request().url.string)) {
      try again.storedBytes(limit: 4)
    }
    let part = request("/a", [HTTPField("Range", "bytes=1-3")])
    let range = try #require(sandbox.client.storedAnswer(to: part))
    #expect(try range.storedBytes() == Array(whole[1...3]))
  }

  @Test func `a stored beginning that proves damaged is fetched again`() async throws {
    let whole = pieces([200_000])[0]
    @Sendable func part(_ range: Range<Int>) -> Answer {
      let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"
      let fields = fresh(tag: "1") + [HTTPField("Content-Range", value)]
      return Answer([Array(whole[range])], status: 206, fields: HTTPFields(fields))
    }
    let sandbox = try ClientSandbox(part(0..<100_000))
    let asked = request("/a", [HTTPField("Range", "bytes=0-99999")])
    for isWhole in [true, false] {
      sandbox.transport.answer(part(0..<100_000))
      _ = try await sandbox.client.data(for: asked, options: FetchOptions(policy: .reload))
      let entries = "\(sandbox.path)/entries"
      let names = try FileManager.default.subpathsOfDirectory(atPath: entries)
      let name = try #require(names.first { $0.hasSuffix(".body") })
      sandbox.transport.set { request in
        guard request.fields.contains("If-Range") else {
          return .success(Answer([whole], fields: fresh()))
        }
        // It was whole when its rest was asked for.
        try? FileHandle(forWritingTo: URL(filePath: "\(entries)/\(name)")).truncate(atOffset: 9)
        return .success(part(100_000..<200_000))
      }
      if isWhole {
        #expect(try await sandbox.client.data(for: request()).bytes == whole)
        try sandbox.store.removeAll()
      } else {
        let error = await #expect(throws: ClientError.self) {
          try await sandbox.client.fetch(request()).body.next()
        }
        guard case .store(let cause)? = error?.cause else { throw CocoaError(.featureUnsupported) }
        #expect(cause.code == .damaged)
        #expect(sandbox.transport.bodies.last?.isCancelled == true)
      }
    }
  }

  @Test func `parts that belong together are one body`() async throws {
    let transport = ScriptedTransport { request in
      let first = request.fields.first(named: "Range")?.text == "bytes=0-1"
      var answer = Answer(first ? "ab" : "cd", status: 206, fields: fresh(99, tag: "x"))
      answer.fields.append(
        HTTPField("Content-Range", first ? "bytes 0-1/4" : "bytes 2-3/4"))
      return .success(answer)
    }
    let sandbox = try ClientSandbox(transport)
    for range in ["bytes=0-1", "bytes=2-3"] {
      _ = try await sandbox.client.data(for: request("/a", [HTTPField("Range", range)]))
    }
    let joined = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(try joined.storedBytes(limit: 4) == Array("abcd".utf8))
  }

  @Test func `coded bodies are decoded at once, bounded by what comes out`() throws {
    // head -c 100000 /dev/zero | gzip -n9
    let start: [UInt8] = [
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00,
      0x00, 0x00, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 0x0d, 0x0f, 0xa0,
    ]
    let end: [UInt8] = [0x80, 0x57, 0x03, 0x7d, 0x95, 0x11, 0xd4, 0xa0, 0x86, 0x01, 0x00]
    let coded = start + [UInt8](repeating: 0, count: 96) + end
    let sandbox = try ClientSandbox(Answer())
    var fields = fresh()
    fields.append(HTTPField("Content-Encoding", "gzip"))
    func answer(_ body: [UInt8]) throws -> ClientResponse {
      _ = try sandbox.client.store(
        body, HTTPResponseHead(status: 200, fields: fields), for: request())
      return try #require(sandbox.client.storedAnswer(to: request()))
    }
    #expect(try answer(coded).storedBytes() == [UInt8](repeating: 0, count: 100_000))
    let url = request().url.string
    #expect(throws: ClientError(.tooLarge(limit: 99_999), url: url)) {
      try answer(coded).storedBytes(limit: 99_999)
    }
    #expect(throws: ClientError(.coding(.truncated(coding: "gzip")), url: url)) {
      try answer(Array(coded.dropLast())).storedBytes()
    }
  }

  @Test(arguments: [10_000, 100_000])
  func `a limit is that of the caller, whatever comes after the end of a coded body`(junk: Int)
    async throws
  {
    // printf 0123456789 | gzip -n9
    let coded: [UInt8] = [
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0x30, 0x34, 0x32, 0x36,
      0x31, 0x35, 0x33, 0xb7, 0xb0, 0x04, 0x00, 0xc6, 0xc7, 0x84, 0xa6, 0x0a, 0x00, 0x00, 0x00,
    ]
    let body = coded + [UInt8](repeating: 7, count: junk)
    let sandbox = try ClientSandbox(Answer.coded("gzip", body))
    for _ in 0..<2 {
      let result = try await sandbox.client.data(for: request(), limit: 100)
      #expect(result.bytes == Array("0123456789".utf8))
    }
    #expect(sandbox.transport.requests.count == 1)
    let error = await #expect(throws: ClientError.self) {
      try await sandbox.client.data(for: request(), limit: 9)
    }
    #expect(error == ClientError(.tooLarge(limit: 9), url: request().url.string))
  }

  @Test func `no byte at all is within any limit, and one byte is not within none`() async throws {
    for (body, limit, isGood) in [([], 0, true), ([1], 0, false), ([1], 1, true)]
      as [([UInt8], Int, Bool)]
    {
      let sandbox = try ClientSandbox(Answer([body], fields: fresh()))
      let url = request().url.string
      // From the network, and then from the store, if it could be read to its end.
      for _ in 0..<2 {
        do {
          let bytes = try await sandbox.client.data(for: request(), limit: limit).bytes
          #expect(isGood && bytes == body)
        } catch {
          #expect(!isGood && error == ClientError(.tooLarge(limit: limit), url: url))
        }
        _ = try await sandbox.client.data(for: request())
      }
    }
  }
}
