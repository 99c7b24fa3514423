import CLibrary
import Testing

@testable import CommandLineTools

@Suite struct OutputTests {
  /// Makes a pipe.
  private func makePipe() throws -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    // Safety: pipe writes two descriptors into the array of two.
    try #require(unsafe pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  /// Reads what is in a pipe now, up to 256 bytes.
  private func contents(of descriptor: Int32) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 256)
    // Safety: read writes at most 256 bytes into the array of 256.
    let count = unsafe read(descriptor, &buffer, 256)
    return Array(buffer.prefix(max(0, count)))
  }

  @Test func `bytes wait in the buffer until they are flushed or too many`() throws {
    let (reader, writer) = try makePipe()
    defer { close(reader) }
    defer { close(writer) }
    let output = Output(descriptor: writer, name: "test", capacity: 8)
    try output.write("abc")
    try output.write("defghij")
    #expect(contents(of: reader) == Array("abc".utf8))
    try output.write("0123456789")
    #expect(contents(of: reader) == Array("defghij0123456789".utf8))
    try output.writeLine("end")
    try output.flush()
    #expect(contents(of: reader) == Array("end\n".utf8))
  }

  @Test func `a descriptor that is closed is reported with its name`() {
    let output = Output(descriptor: -1, name: "result.txt")
    #expect(throws: OutputError(path: "result.txt", errno: EBADF)) {
      try output.write("x")
      try output.flush()
    }
  }

  @Test func `a full disk is reported with a remedy`() throws {
    let error = OutputError(path: "a\\b", errno: ENOSPC)
    #expect(
      error.description == "a\\b: cannot be written: No space left on device; "
        + "free some space and run the command again")
    #expect(!error.isClosedPipe)
    #expect(OutputError(path: "standard output", errno: EPIPE).isClosedPipe)
  }

  @Test func `a pipe is no terminal and its width comes from elsewhere`() throws {
    let (reader, writer) = try makePipe()
    defer { close(reader) }
    defer { close(writer) }
    #expect(!Terminal.isTerminal(writer))
    #expect(Terminal.width(of: writer) >= 20)
  }
}
