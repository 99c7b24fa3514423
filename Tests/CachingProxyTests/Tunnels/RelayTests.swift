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
