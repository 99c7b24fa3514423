import CacheSystem
import HTTPTransports
import Synchronization
import Testing

@testable import CachingProxy

@Suite struct RelayTests {
  /// A client that has one byte each time it is asked.
  private final class Dripping: TunnelEnd {
    private let hasByte = Mutex(false)
    let descriptor: Int32 = -1
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
      hasByte.withLock { hasByte in
        hasByte.toggle()
        return hasByte ? .bytes(1) : .wouldBlock
      }
    }
    func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer { .bytes(buffer.count) }
    func finishWriting() {}
    func close(isBroken: Bool) {}
  }

  /// A side that has sent its last byte, and takes no more.
  private final class Ended: TunnelEnd {
    let hasEnded = Mutex(false)
    let descriptor: Int32 = -1
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
      hasEnded.withLock { $0 } ? .end : .wouldBlock
    }
    func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer { .bytes(buffer.count) }
    func finishWriting() {}
    func close(isBroken: Bool) {}
  }

  @Test func `a side that ends without a byte leaves the other a minute`() {
    let client = Ended()
    let relay = Relay(
      client: client, server: Ended(), head: [], first: ([], []), idle: .seconds(86_400)
    ) { _ in }
    let end = relay.end
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
    defer { unsafe buffer.deallocate() }
    unsafe relay.move(buffer, at: .now)
    #expect(relay.end == end)
    client.hasEnded.withLock { $0 = true }
    let now = ContinuousClock.now
    unsafe relay.move(buffer, at: now)
    #expect(relay.end == now + Relay.halfClosedIdle)
    relay.close()
  }

  @Test(arguments: [false, true])
  func `a client that goes on sending keeps a tunnel, and no refusal`(isRefusal: Bool) {
    let relay = Relay(
      client: Dripping(), server: NoEnd(), head: [1, 2], first: ([], []), idle: .seconds(5),
      isRefusal: isRefusal
    ) { result in #expect(result.toClient == 0 && result.toServer == 3) }
    let end = relay.end
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
    defer { unsafe buffer.deallocate() }
    for second in 1...3 { unsafe relay.move(buffer, at: .now + .seconds(second)) }
    #expect((relay.end > end) == !isRefusal)
    relay.close()
  }
}
