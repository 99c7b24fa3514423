import ClientTesting
import Foundation
import MessageDigests
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct StatedDigestTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  private func digest(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) throws -> StatedDigest {
    try StatedDigest(algorithm, MessageDigest.of(bytes, algorithm))
  }

  @Test(arguments: DigestAlgorithm.allCases)
  func `a digest of the caller is verified, over parts too`(
    algorithm: DigestAlgorithm
  ) async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    var request = sandbox.asked()
    request.digest = try digest(algorithm, big)
    _ = await sandbox.failure(sandbox.downloader(server), request)
    let file = try await sandbox.downloader(server).download(request)
    #expect(file.resumedBytes == 300_000)
    #expect(sandbox.bytes() == big)
    request = sandbox.asked("other")
    request.digest = try digest(algorithm, content(1000))
    let cause = await sandbox.failure(sandbox.downloader(server), request)
    let expected = try #require(request.digest)
    #expect(cause == .wrongDigest(expected: expected, actual: try digest(algorithm, big)))
    #expect(sandbox.bytes("other") == nil)
  }

  @Test(arguments: [DigestAlgorithm.sha256, .sha512, .md5])
  func `a digest of the server is verified`(algorithm: DigestAlgorithm) async throws {
    func field(_ bytes: [UInt8]) -> HTTPField {
      let base64 = Data(MessageDigest.of(bytes, algorithm)).base64EncodedString()
      return algorithm == .md5
        ? HTTPField("Content-MD5", base64)
        : HTTPField("Repr-Digest", "\(algorithm.rawValue)=:\(base64):, crc32=:AAAA:")
    }
    let server = FileServer(
      big, faults: [.init(fields: [field(big)]), .init(fields: [field([1])])])
    _ = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(sandbox.bytes() == big)
    guard
      case .wrongDigest? = await sandbox.failure(
        sandbox.downloader(server), sandbox.asked("other"))
    else { return #expect(Bool(false), "the digest is not looked at") }
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `the caller's digest counts, whatever the server states`() async throws {
    let base64 = Data(MessageDigest.of(big, .sha512)).base64EncodedString()
    let server = FileServer(
      big, faults: [.init(fields: [HTTPField("Repr-Digest", "sha-512=:\(base64):")])])
    var request = sandbox.asked()
    let expected = try digest(.sha256, [1])
    request.digest = expected
    let cause = await sandbox.failure(sandbox.downloader(server), request)
    #expect(cause == .wrongDigest(expected: expected, actual: try digest(.sha256, big)))
    #expect(sandbox.bytes() == nil)
  }

  @Test func `what was put together wrongly is fetched once more as a whole`() async throws {
    // A server that says the same of two states.
    let other = content(1_000_000, seed: 2)
    let server = FileServer(other, faults: [.init(cut: 300_000)])
    var request = sandbox.asked()
    request.digest = try digest(.sha256, big)
    _ = await sandbox.failure(sandbox.downloader(server), request)
    server.change(big, tag: "\"1\"")
    let file = try await sandbox.downloader(server).download(request)
    #expect(server.ranges == ["", "bytes=300000-", ""])
    #expect(file.resumedBytes == 0 && file.receivedBytes == 1_700_000)
    #expect(sandbox.bytes() == big)
  }

  @Test func `what stays wrong is fetched as a whole once`() async throws {
    let cut = FileServer.Fault(cut: 500_000)
    let server = FileServer(big, faults: [cut, .init(), cut, .init(), cut, .init()])
    var request = sandbox.asked()
    request.digest = try digest(.sha256, [])
    let cause = await sandbox.failure(
      sandbox.downloader(server, maximumRetries: 5), request)
    guard case .wrongDigest? = cause else { return #expect(cause == nil, "another error") }
    #expect(server.ranges == ["", "bytes=500000-", "", "bytes=500000-"])
  }

  @Test func `what one answer gave is not fetched again for its digest`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    server.change(content(1_000_000, seed: 2), tag: "\"2\"")
    var request = sandbox.asked()
    request.digest = try digest(.sha256, big)
    guard case .wrongDigest? = await sandbox.failure(sandbox.downloader(server), request)
    else { return #expect(Bool(false), "the digest is not looked at") }
    #expect(server.ranges == ["", "bytes=300000-"])
  }

  @Test func `what one call put together wrongly is fetched once more as well`() async throws {
    let gate = Gate()
    let server = FileServer(
      content(1_000_000, seed: 2), faults: [.init(cut: 300_000), .init(gate: gate)])
    var request = sandbox.asked()
    request.digest = try digest(.sha256, big)
    // The first answer is of another state under the same tag.
    let download = sandbox.downloader(server, maximumRetries: 1).start(request)
    await eventually { server.requests.count == 2 }
    server.change(big, tag: "\"1\"")
    gate.open()
    #expect(try await download.value().record.length == 1_000_000)
    #expect(server.ranges == ["", "bytes=300000-", ""])
    #expect(sandbox.bytes() == big)
  }

  @Test func `what is no digest is an error that says why`() {
    let hex = String(repeating: "0", count: 64)
    func error(_ text: String) -> InvalidDigest? {
      #expect(throws: InvalidDigest.self) { try StatedDigest(.sha256, hex: text) }
    }
    #expect(error(String(hex.dropLast())) == .digits(count: 63, expected: 64))
    #expect(error(hex + "00") == .digits(count: 66, expected: 64))
    #expect(error("") == .digits(count: 0, expected: 64))
    for text in ["zz" + hex.dropFirst(2), " " + hex, "sha256:" + hex, hex + "\n"] {
      #expect(error(text) == .characters)
    }
    #expect(throws: InvalidDigest.bytes(count: 20, expected: 32)) {
      try StatedDigest(.sha256, [UInt8](repeating: 0, count: 20))
    }
    #expect(
      InvalidDigest.digits(count: 63, expected: 64).description
        == "the digest has 63 hex digits, not 64; copy all of them, or correct the algorithm")
  }

  @Test func `digests are read from hex, and from fields of any shape`() throws {
    let bytes = MessageDigest.of([], .sha256)
    let hex = "E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(try StatedDigest(.sha256, hex: hex).bytes == bytes)
    for value in ["", "sha-256=1", "sha-256=:AAAA:", "sha-256", "x"] {
      #expect(
        StatedDigest(of: HTTPResponseHead(status: 200, fields: [HTTPField("Repr-Digest", value)]))
          == nil)
    }
    let md5 = HTTPField("Content-MD5", Data(MessageDigest.of([], .md5)).base64EncodedString())
    #expect(StatedDigest(of: HTTPResponseHead(status: 200, fields: [md5]))?.algorithm == .md5)
    #expect(StatedDigest(of: HTTPResponseHead(status: 206, fields: [md5])) == nil)
  }

  @Test func `of several digests the strongest counts`() throws {
    let fields = [DigestAlgorithm.sha256, .sha512].map { algorithm in
      let digits = Data(MessageDigest.of(big, algorithm)).base64EncodedString()
      return HTTPField("Repr-Digest", "\(algorithm.rawValue)=:\(digits):")
    }
    for fields in [fields, fields.reversed()] {
      let head = HTTPResponseHead(status: 200, fields: HTTPFields(fields))
      #expect(StatedDigest(of: head)?.algorithm == .sha512)
    }
  }
}
