import CacheSystem

/// The bytes of an `InputStream`. The stream blocks, so it is read on its own thread.
final class StreamSource: RequestBodySource {
  private static let pieceBytes = 64 << 10

  private let pool = WorkerPool(threads: 1)
  // Safety: after the initialiser the stream is used only on the thread.
  private nonisolated(unsafe) let stream: InputStream
  // Safety: used only on the thread, and when nobody else has the source any more.
  private nonisolated(unsafe) var hasRead = false

  init(_ stream: InputStream) {
    unsafe self.stream = stream
  }

  // A stream that was read in part must not be read on by another request, which would send the rest as
  // the whole.
  deinit { if unsafe hasRead { unsafe stream.close() } }

  func next() async throws -> [UInt8]? {
    try await pool.call { [self] in try read() }
  }

  private func read() throws -> [UInt8]? {
    let stream = unsafe stream
    // Foundation traps if a closed stream is asked for its error.
    if stream.streamStatus == .closed { throw StreamFault.readBefore }
    unsafe hasRead = true
    if stream.streamStatus == .notOpen { stream.open() }
    var bytes = [UInt8](repeating: 0, count: Self.pieceBytes)
    // Safety: the stream writes at most as many bytes as the buffer has.
    let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe stream.read(start, maxLength: buffer.count)
    }
    if count > 0 { return Array(bytes[..<count]) }
    let failure = stream.streamStatus == .error ? stream.streamError : nil
    stream.close()
    guard count == 0 else { throw failure ?? StreamFault.unreadable }
    return nil
  }
}

/// A stream that cannot be read, for the text of the error.
private enum StreamFault: Error, CustomStringConvertible {
  /// It was read by another request, or closed.
  case readBefore
  /// It gives no reason.
  case unreadable

  var description: String {
    switch self {
    case .readBefore: "the stream was read before; each request needs a new one"
    case .unreadable: "the stream cannot be read"
    }
  }
}
