import CLibrary
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite("An interim answer") struct InterimAnswerTests {
  @Test func `is written as a head of its own`() {
    let head = HTTPResponseHead(
      status: 103,
      fields: [
        HTTPField("Link", "</a>; rel=preload"), HTTPField("Link", "</b>"),
        HTTPField("Connection", "x"), HTTPField("Content-Length", "5"), HTTPField("X", "a\r\nb: c"),
      ])
    let bytes = InterimAnswer.bytes(of: head, via: "1.1 me")
    #expect(
      String(decoding: bytes ?? [], as: UTF8.self)
        == "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\nVia: 1.1 me\r\n\r\n"
    )
  }

  @Test func `that is too long is left out`() {
    let long = HTTPField("A", String(repeating: "x", count: InterimAnswer.maximumLength))
    #expect(InterimAnswer.bytes(of: HTTPResponseHead(status: 103, fields: [long]), via: "") == nil)
  }

  /// Two connected sockets, the first with little room.
  private func sockets() throws -> (near: RawClient, far: RawClient) {
    var pair: [Int32] = [-1, -1]
    // Safety: the call writes two descriptors into the array of two.
    try #require(unsafe socketpair(AF_UNIX, streamType, 0, &pair) == 0)
    var size: Int32 = 1
    // Safety: the option is read from a local.
    _ = unsafe setsockopt(
      pair[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    return (RawClient(descriptor: pair[0]), RawClient(descriptor: pair[1]))
  }

  @Test func `of which a client takes only a part ends the connection`() throws {
    let (near, far) = try sockets()
    let bytes = [UInt8](repeating: 65, count: 1 << 20)
    InterimAnswer.write(bytes, to: near.descriptor, nil)
    let reading = far.read()
    #expect(reading.end == .closed)
    #expect((1..<bytes.count).contains(reading.bytes.count))
    #expect(!near.send("x"))
  }

  @Test func `is left out if a client has no room`() throws {
    let (near, far) = try sockets()
    let first = near.sendUntilBlocked([UInt8](repeating: 65, count: 1 << 20))
    InterimAnswer.write([66], to: near.descriptor, nil)
    #expect(far.read(count: first).bytes == [UInt8](repeating: 65, count: first))
    InterimAnswer.write([67], to: near.descriptor, nil)
    #expect(far.read(count: 1).text == "C")
    near.finishSending()
    #expect(far.read() == RawClient.Reading(bytes: [], end: .closed))
  }
}
