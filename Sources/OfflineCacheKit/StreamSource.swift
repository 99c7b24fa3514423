import Foundation
import HTTPTransports

/// The bytes of an `InputStream`. The stream blocks, so it is read on its own queue.
final class StreamSource: RequestBodySource {
  private static let pieceBytes = 64 << 10

  private let queue = DispatchQueue(label: "OfflineCache.body")
  // Safety: after the initialiser the stream is used only on the queue.
  private nonisolated(unsafe) let stream: InputStream

  init(_ stream: InputStream) {
    unsafe self.stream = stream
  }

  func next() async throws -> [UInt8]? {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in continuation.resume(with: Result { try read() }) }
    }
  }

  private func read() throws -> [UInt8]? {
    let stream = unsafe stream
    if stream.streamStatus == .notOpen { stream.open() }
    var bytes = [UInt8](repeating: 0, count: Self.pieceBytes)
    // Safety: the stream writes at most as many bytes as the buffer has.
    let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe stream.read(start, maxLength: buffer.count)
    }
    if count > 0 { return Array(bytes[..<count]) }
    defer { stream.close() }
    guard count == 0 else { throw stream.streamError ?? URLError(.requestBodyStreamExhausted) }
    return nil
  }
}
