import ClientTesting
import ContentCoding
import Testing

@testable import HTTPDownloads

struct DecodedPiecesTests {
  /// "abc", as gzip(1) writes it.
  private static let coded: [UInt8] = [
    0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 0x4C, 0x4A, 6, 0, 0xC2, 0x41, 0x24, 0x35, 3, 0, 0, 0,
  ]

  private func read(
    _ pieces: [[UInt8]], _ codings: [String]?, end: TransportError.Code? = nil
  ) async -> Result<[UInt8], DownloadError.Cause> {
    var answer = ScriptedTransport.Answer(pieces)
    answer.end = end
    let body = ScriptedBody(answer, url: "http://a/")
    var decoded = DecodedPieces(body, codings.flatMap { ContentDecoder(codings: $0) })
    var bytes: [UInt8] = []
    do throws(DownloadError.Cause) {
      while let piece = try await decoded.next() { bytes += piece }
      return .success(bytes)
    } catch { return .failure(error) }
  }

  @Test func `without a coding the pieces come as they are`() async {
    #expect(await read([[1], [2, 3]], nil) == .success([1, 2, 3]))
    #expect(await read([], nil) == .success([]))
  }

  @Test func `a coding is taken off, in whatever pieces it comes`() async {
    let abc = Result<[UInt8], DownloadError.Cause>.success(Array("abc".utf8))
    #expect(await read([Self.coded], ["gzip"]) == abc)
    #expect(await read(Self.coded.map { [$0] }, ["gzip"]) == abc)
    #expect(await read([], ["gzip"]) == .success([]))
  }

  @Test func `an end that comes too early, and damage, are errors of the coding`() async {
    for count in 1..<Self.coded.count {
      let result = await read([Array(Self.coded[..<count])], ["gzip"])
      #expect(result == .failure(.coding(.truncated(coding: "gzip"))), "\(count) bytes")
    }
    var damaged = Self.coded
    damaged[15] ^= 1
    #expect(await read([damaged], ["gzip"]) == .failure(.coding(.damaged(coding: "gzip"))))
  }

  @Test func `an error of the network is told as such, with and without a coding`() async {
    let lost = TransportError(.truncatedBody, url: "http://a/")
    for codings in [nil, ["gzip"]] {
      #expect(await read([Self.coded], codings, end: .truncatedBody) == .failure(.transport(lost)))
    }
  }
}
