import CLibrary
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
    func finishWriting() -> TunnelTransfer { .end }
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
    func finishWriting() -> TunnelTransfer { .end }
    func close(isBroken: Bool) {}
  }

  /// A side that gives what a test says, and keeps what it gets.
  private final class Scripted: TunnelEnd {
    private let reads: Mutex<[TunnelTransfer]>
    private let finishes: Mutex<[TunnelTransfer]>
    private let takes: TunnelTransfer?
    let taken = Mutex(0)
    let wasBroken = Mutex<Bool?>(nil)
    let descriptor: Int32 = 7
    /// - Parameter takes: The result of each write; nil if all bytes are taken.
    init(
      _ reads: [TunnelTransfer], finishes: [TunnelTransfer] = [], takes: TunnelTransfer? = nil
    ) {
      self.reads = Mutex(reads)
      self.finishes = Mutex(finishes)
      self.takes = takes
    }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
      reads.withLock { $0.isEmpty ? .wouldBlock : $0.removeFirst() }
    }
    func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
      if let takes { return takes }
      taken.withLock { $0 += buffer.count }
      return .bytes(buffer.count)
    }
    func finishWriting() -> TunnelTransfer {
      finishes.withLock { $0.isEmpty ? .end : $0.removeFirst() }
    }
    func close(isBroken: Bool) { wasBroken.withLock { $0 = isBroken } }
  }

  /// Moves bytes once, with a small buffer.
  private func move(_ relay: Relay, at now: ContinuousClock.Instant = .now) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
    defer { unsafe buffer.deallocate() }
    unsafe relay.move(buffer, at: now)
  }

  @Test(arguments: [0, 4])
  func `a server that takes no more still answers`(early: Int) {
    let client = Scripted([.bytes(3), .bytes(3), .end])
    let server = Scripted([.bytes(5), .end], takes: .failed)
    let results = Mutex<[Relay.Result]>([])
    let relay = Relay(
      client: client, server: server, head: [], first: ([UInt8](repeating: 1, count: early), []),
      idle: .seconds(5)
    ) { result in results.withLock { $0.append(result) } }
    for _ in 0..<3 where !relay.isOver { move(relay) }
    #expect(relay.isOver)
    relay.close()
    #expect(client.taken.withLock { $0 } == 5)
    #expect(client.wasBroken.withLock { $0 } == false)
    #expect(server.wasBroken.withLock { $0 } == true)
    #expect(
      results.withLock { $0 } == [Relay.Result(toClient: 5, toServer: 0, isComplete: false)])
  }

  @Test func `a server that leaves between two looks at it is one that takes no more`() {
    // The first look finds it full; then it answers and closes, with bytes that it has not read. The
    // system reports that once.
    let client = Scripted([.bytes(3), .end])
    let server = Scripted([.bytes(5), .failed, .end], takes: .wouldBlock)
    let relay = Relay(
      client: client, server: server, head: [], first: ([], []), idle: .seconds(5)
    ) { result in
      #expect(result == Relay.Result(toClient: 5, toServer: 0, isComplete: false))
    }
    for _ in 0..<3 where !relay.isOver { move(relay) }
    #expect(relay.isOver)
    relay.close()
    #expect(client.taken.withLock { $0 } == 5 && client.wasBroken.withLock { $0 } == false)
    #expect(server.wasBroken.withLock { $0 } == true)
  }

  @Test func `a server that is lost while nothing waits for it is lost for the client, too`() {
    for reads in [[.failed], [.bytes(5), .failed, .end]] as [[TunnelTransfer]] {
      let client = Scripted([.bytes(3)])
      let relay = Relay(
        client: client, server: Scripted(reads), head: [], first: ([], []), idle: .seconds(5)
      ) { result in #expect(!result.isComplete) }
      move(relay)
      #expect(relay.isOver)
      relay.close()
      #expect(client.wasBroken.withLock { $0 } == true)
    }
  }

  @Test func `the end is told again if a client could not take it`() {
    let client = Scripted([.end], finishes: [.wouldBlock])
    let relay = Relay(
      client: client, server: Scripted([.bytes(5), .end]), head: [], first: ([], []),
      idle: .seconds(5)
    ) { result in #expect(result.isComplete) }
    move(relay)
    #expect(!relay.isOver)
    #expect(relay.watched[0].descriptor == 7 && relay.watched[0].events == Int16(POLLOUT))
    #expect(relay.watched[1].descriptor == -1)
    move(relay)
    #expect(relay.isOver)
    relay.close()
  }

  @Test func `a tunnel whose end cannot be told is not complete`() {
    let client = Scripted([.end], finishes: [.failed])
    let relay = Relay(
      client: client, server: Scripted([.end]), head: [], first: ([], []), idle: .seconds(5)
    ) { result in #expect(!result.isComplete) }
    move(relay)
    #expect(relay.isOver)
    relay.close()
  }

  @Test func `bytes that nobody takes do not keep a tunnel open`() {
    let relay = Relay(
      client: Dripping(), server: Scripted([.bytes(1)], takes: .failed), head: [],
      first: ([], []), idle: .seconds(86_400)
    ) { _ in }
    let now = ContinuousClock.now
    for second in 0..<3 { move(relay, at: now + .seconds(second)) }
    #expect(!relay.isOver)
    #expect(relay.end == now + Relay.halfClosedIdle)
    relay.close()
  }

  @Test func `a side that ends without a byte leaves the other a minute`() {
    let client = Ended()
    let relay = Relay(
      client: client, server: Ended(), head: [], first: ([], []), idle: .seconds(86_400)
    ) { _ in }
    let end = relay.end
    move(relay)
    #expect(relay.end == end)
    client.hasEnded.withLock { $0 = true }
    let now = ContinuousClock.now
    move(relay, at: now)
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
    for second in 1...3 { move(relay, at: .now + .seconds(second)) }
    #expect((relay.end > end) == !isRefusal)
    relay.close()
  }
}
