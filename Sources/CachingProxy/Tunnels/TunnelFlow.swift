import HTTPTransports

/// One direction of a tunnel: the bytes that were read and not written yet.
///
/// It holds no memory while the receiver accepts all bytes.
struct TunnelFlow {
  /// The bytes that are read at a time, which is also the limit of those that wait.
  static let pieceBytes = 64 * 1024

  /// The bytes that were moved in one turn at most, so that one tunnel does not delay the others.
  static let turnBytes = 1 << 20

  enum Outcome {
    /// The flow waits for one of the connections.
    case waiting
    /// There may be more to move at once.
    case unfinished
    /// The sender is lost.
    case broken
    /// The receiver accepts no more bytes.
    case refused
  }

  private var pending: ArraySlice<UInt8>
  private(set) var hasEnded = false
  /// Whether the receiver was told so, unless the bytes are dropped.
  private(set) var isFinished = false
  /// Whether the bytes are read and dropped.
  private(set) var isDiscarding = false
  /// The bytes that were written to the receiver.
  private(set) var count: UInt64 = 0

  /// Creates a flow that begins with bytes that are already here.
  init(_ first: [UInt8] = []) { pending = first[...] }

  /// Whether there are bytes that the receiver has not taken.
  var holdsBytes: Bool { !pending.isEmpty }

  /// Whether poll(2) has to watch the sender.
  var wantsToRead: Bool { !hasEnded && pending.isEmpty }

  /// Whether poll(2) has to watch the receiver.
  var wantsToWrite: Bool { !pending.isEmpty || (hasEnded && !isFinished) }

  /// Drops the bytes from now on.
  mutating func discard() {
    isDiscarding = true
    pending = []
  }

  /// Moves bytes until one of the connections has to be waited for.
  ///
  /// - Parameter buffer: Memory of ``pieceBytes`` bytes that many flows use in turn.
  mutating func move(
    from sender: any TunnelEnd, to receiver: any TunnelEnd, _ buffer: UnsafeMutableRawBufferPointer
  ) -> Outcome {
    var read = 0
    while read < Self.turnBytes {
      if !pending.isEmpty {
        switch unsafe pending.withUnsafeBytes({ unsafe receiver.write($0) }) {
        case .bytes(let written):
          count += UInt64(written)
          pending = written == pending.count ? [] : pending.dropFirst(written)
        case .wouldBlock: return .waiting
        case .end, .failed: return .refused
        }
        continue
      }
      if hasEnded {
        if !isFinished, !isDiscarding {
          switch receiver.finishWriting() {
          case .wouldBlock: return .waiting
          case .failed: return .refused
          case .bytes, .end: break
          }
        }
        isFinished = true
        return .waiting
      }
      switch unsafe sender.read(into: buffer) {
      case .bytes(let size):
        read += size
        if isDiscarding { continue }
        guard
          let written = unsafe write(UnsafeRawBufferPointer(rebasing: buffer[..<size]), receiver)
        else { return .refused }
        // Safety: the rest of what was read is copied.
        if written < size { pending = unsafe Array(buffer[written..<size])[...] }
      case .wouldBlock: return .waiting
      case .end: hasEnded = true
      case .failed: return .broken
      }
    }
    return .unfinished
  }

  /// Writes as much as the receiver accepts at once; returns `nil` if the connection is lost.
  private mutating func write(_ bytes: UnsafeRawBufferPointer, _ receiver: any TunnelEnd) -> Int? {
    switch unsafe receiver.write(bytes) {
    case .bytes(let written):
      count += UInt64(written)
      return written
    case .wouldBlock: return 0
    case .end, .failed: return nil
    }
  }
}

/// The other end of a connection that only gets an answer of the proxy: it sends nothing, and drops
/// what it gets.
final class NoEnd: TunnelEnd {
  let descriptor: Int32 = -1
  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer { .end }
  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer { .bytes(buffer.count) }
  func finishWriting() -> TunnelTransfer { .end }
  func close(isBroken: Bool) {}
}
