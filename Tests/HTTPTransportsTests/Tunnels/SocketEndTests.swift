import CLibrary
import HTTPTransports
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SocketEndTests {
  /// Two connected ends. Bytes that one has sent are there for the other at once.
  private func pair(
    closing: @escaping @Sendable (Int32) -> Void = { CLibrary.close($0) }
  ) throws -> (SocketEnd, SocketEnd) {
    var ends: [Int32] = [-1, -1]
    // Safety: socketpair writes two descriptors into the array of two.
    let isMade = unsafe socketpair(AF_UNIX, streamType, 0, &ends) == 0
    try #require(isMade)
    return (SocketEnd(ends[0], closing: closing), SocketEnd(ends[1]))
  }

  private func write(_ bytes: [UInt8], to end: SocketEnd) -> TunnelTransfer {
    unsafe bytes.withUnsafeBytes { unsafe end.write($0) }
  }

  private func read(_ end: SocketEnd, _ count: Int = 10) -> (TunnelTransfer, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = unsafe bytes.withUnsafeMutableBytes { unsafe end.read(into: $0) }
    guard case .bytes(let size) = result else { return (result, []) }
    return (result, Array(bytes[..<size]))
  }

  @Test func `bytes go over, nothing is waited for, and each direction ends alone`() throws {
    let (one, two) = try pair()
    defer { two.close(isBroken: false) }
    #expect(read(two).0 == .wouldBlock)
    #expect(write([1, 2, 3], to: one) == .bytes(3))
    #expect(read(two, 2).1 == [1, 2] && read(two).1 == [3])
    #expect(read(two).0 == .wouldBlock)
    #expect(write([4], to: one) == .bytes(1))
    #expect(one.finishWriting() == .end)
    #expect(read(two).1 == [4] && read(two).0 == .end && read(two).0 == .end)
    #expect(write([5], to: two) == .bytes(1) && read(one).1 == [5])
    one.close(isBroken: false)
    #expect(write([6], to: two) == .failed)
  }

  @Test func `a full connection takes what it can, and the rest later`() throws {
    let (one, two) = try pair()
    defer {
      one.close(isBroken: false)
      two.close(isBroken: false)
    }
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    var sent = 0
    while case .bytes(let count) = write(piece, to: one) { sent += count }
    #expect(sent > 0 && write([1], to: one) == .wouldBlock)
    var got = 0
    while case .bytes(let count) = read(two, 1 << 16).0 { got += count }
    #expect(got == sent && write([1], to: one) == .bytes(1))
  }

  @Test func `writing to one that has left is a failure, and no signal`() throws {
    let (one, two) = try pair()
    two.close(isBroken: true)
    for _ in 0..<3 { #expect(write([1], to: one) == .failed) }
    #expect(one.finishWriting() == .failed || one.finishWriting() == .end)
    one.close(isBroken: false)
  }
}
