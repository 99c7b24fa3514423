import Testing

@testable import CurlHTTP

struct ChunkedBodyTests {
  private struct Read: Equatable {
    var body = ""
    var trailers: [String] = []
    var isOver = false
    var fault: String?
  }

  private func read(_ text: String, pieceBytes: Int = .max) -> Read {
    var chunks = ChunkedBody()
    var body: [UInt8] = []
    var trailers: [[UInt8]] = []
    var read = Read()
    var rest = Array(text.utf8)[...]
    do throws(ChunkedBody.Violation) {
      while !rest.isEmpty {
        let piece = Array(rest.prefix(pieceBytes))
        rest = rest.dropFirst(piece.count)
        let result = unsafe piece.withUnsafeBytes { bytes in
          Result { () throws(ChunkedBody.Violation) in
            try unsafe chunks.consume(bytes, into: &body, trailers: &trailers)
          }
        }
        try result.get()
      }
    } catch {
      read.fault = error.text
    }
    read.body = String(decoding: body, as: UTF8.self)
    read.trailers = trailers.map { String(decoding: $0, as: UTF8.self) }
    read.isOver = chunks.isOver
    return read
  }

  @Test("chunks and trailers are the same at whatever places they are cut", arguments: 1...40)
  func cuts(pieceBytes: Int) {
    let text = "5;a=b\r\nhello\r\n0000B  \r\n, the\r\nworld\r\n0 ;x\r\nA: b\r\nC: d\r\n\r\nrest\r\n"
    let whole = Read(
      body: "hello, the\r\nworl", trailers: [], isOver: false, fault: "a chunk beyond its size")
    #expect(read(text, pieceBytes: pieceBytes) == whole)
    let right = text.replacing("0000B", with: "0000c")
    #expect(
      read(right, pieceBytes: pieceBytes)
        == Read(body: "hello, the\r\nworld", trailers: ["A: b\r\n", "C: d\r\n"], isOver: true))
  }

  @Test("a body is over with the empty line after its last chunk, and not before")
  func end() {
    let text = "1\r\na\r\n0\r\n\r\n"
    for count in 0..<text.utf8.count {
      #expect(!read(String(decoding: Array(text.utf8).prefix(count), as: UTF8.self)).isOver)
    }
    #expect(read(text) == Read(body: "a", isOver: true))
  }

  @Test(
    "what is no size is a fault",
    arguments: [
      "\r\n", "x\r\n", "0x1\r\n", "1 1\r\n", "-1\r\n", "+1\r\n", "g\r\n", "1\r2\r\n", "1;\0\r\n",
      "8000000000000000\r\n", "00000000000000001\r\n",
    ])
  func sizes(line: String) {
    #expect(read(line).fault == "a chunk without a size")
  }

  @Test("lines end with CR LF, and have a limit")
  func lines() {
    #expect(read("1\na\n0\n\n").fault == "a line without a CR")
    #expect(read("1\r\na\n0\r\n\r\n").fault == "a line without a CR")
    let longest = "1;" + String(repeating: "x", count: ChunkedBody.maximumLineBytes - 4) + "\r\n"
    #expect(read(longest).fault == nil)
    #expect(read("1" + longest).fault == "a chunk's line of more than 4096 bytes")
    let trailer = String(repeating: "x", count: HeadParser.maximumBytes + 1)
    #expect(read("0\r\n" + trailer).fault == "a trailer of more than 262144 bytes")
  }
}
