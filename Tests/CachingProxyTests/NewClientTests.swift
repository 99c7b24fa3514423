import CLibrary
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A client that was accepted", .timeLimit(.minutes(3))) struct NewClientTests {
  /// Both ends of a connection. Bytes that one has sent are there for the other at once.
  private final class Pair {
    let far: RawClient
    let near: NewClient
    var waiting: WaitingClient

    init() throws {
      var ends: [Int32] = [-1, -1]
      // Safety: socketpair writes two descriptors into the array of two.
      let isMade = unsafe socketpair(AF_UNIX, streamType, 0, &ends) == 0
      try #require(isMade)
      _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
      near = NewClient(descriptor: ends[0], address: [])
      far = RawClient(descriptor: ends[1])
      waiting = WaitingClient(near, deadline: .now)
    }

    deinit { near.close() }

    /// The bytes that nobody has read yet.
    var left: [UInt8] { RawClient(descriptor: dup(near.descriptor)).readSome() }
  }

  @Test func `that is on a local link has an address without zone`() {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_scope_id = 1
    // Safety: the bytes of the locals are written and read.
    let bytes = unsafe withUnsafeMutableBytes(of: &address) { bytes in
      let place = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 0
      unsafe bytes[place] = 0xFE
      unsafe bytes[place + 1] = 0x80
      unsafe bytes[place + 15] = 1
      return unsafe Array(bytes)
    }
    #expect(NewClient(descriptor: -1, address: bytes).addressText == "fe80::1")
  }

  private let head = Array("CONNECT a.test:443 HTTP/1.1\r\nA: b\r\n\r\n".utf8)

  @Test func `that asks for a tunnel is understood wherever its head is cut`() throws {
    for cut in 1..<head.count {
      let pair = try Pair()
      pair.far.send(Array(head[..<cut]))
      #expect(pair.waiting.look() == .wait, "\(cut)")
      pair.far.send(Array(head[cut...]) + [1, 2])
      #expect(pair.waiting.look() == .connect, "\(cut)")
      #expect(pair.waiting.head == head && pair.left == [1, 2], "\(cut)")
    }
    let pair = try Pair()
    pair.far.send(head)
    #expect(pair.waiting.look() == .connect)
  }

  @Test(arguments: [
    "G", "GET / HTTP/1.1\r\n\r\n", "connect a:1", "CONNECTED", "CONNECT\ta:1", " CONNECT ", "\r\n",
    "\0", "\u{16}\u{3}\u{1}",
  ])
  func `that asks for something else keeps all its bytes`(text: String) throws {
    let pair = try Pair()
    pair.far.send(text)
    #expect(pair.waiting.look() == .request)
    #expect(pair.left == Array(text.utf8))
  }

  @Test func `that ends in the middle of the word asks for something else`() throws {
    for count in 1..<ConnectHead.start.count {
      let pair = try Pair()
      pair.far.send(Array(ConnectHead.start[..<count]))
      #expect(pair.waiting.look() == .wait)
      pair.far.finishSending()
      #expect(pair.waiting.look() == .request, "\(count)")
      #expect(pair.left == Array(ConnectHead.start[..<count]))
    }
  }

  @Test(arguments: ["", "CONNECT ", "CONNECT a:1 HTTP/1.1\r\n\r"])
  func `that leaves before the end of its head is gone`(text: String) throws {
    let pair = try Pair()
    #expect(pair.waiting.look() == .wait)
    pair.far.send(text)
    pair.far.finishSending()
    #expect(pair.waiting.look() == .gone)
  }

  @Test(arguments: [-1, 0, 1])
  func `that sends a head without end is refused at the limit`(beyond: Int) throws {
    let pair = try Pair()
    let count = ConnectHead.maximumBytes + beyond
    let bytes =
      Array("CONNECT ".utf8) + [UInt8](repeating: 65, count: count - 12)
      + Array("\r\n\r\n".utf8)
    pair.far.send(bytes)
    #expect(pair.waiting.look() == .connect)
    #expect(pair.waiting.head == Array(bytes.prefix(ConnectHead.maximumBytes)))
    #expect((ConnectHead.length(in: pair.waiting.head) == nil) == (beyond > 0))
  }

  @Test func `without an address has none in the log`() throws {
    #expect(try Pair().near.addressText == "")
    let strange = NewClient(descriptor: -1, address: [0xFF, 0xFF, 1, 2, 3])
    #expect(strange.addressText == "")
  }
}
