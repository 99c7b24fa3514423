import CacheSystem
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Answers requests with bytes that a test makes; one request a connection.
final class RawOrigin: Sendable {
  private let listener: LoopbackListener
  private let heads = Mutex<[String]>([])

  /// - Parameter script: gets the head of a request and the connection; what it writes is the answer.
  init(_ script: @escaping @Sendable (String, OriginConnection) -> Void) throws {
    listener = try LoopbackListener()
    try startThread { [weak self, listener] in
      while let descriptor = listener.accept() {
        let connection = OriginConnection(descriptor)
        guard let self else { break }
        try? startThread {
          let head = connection.readHead()
          guard !head.isEmpty else { return }
          self.heads.withLock { $0.append(head) }
          script(head, connection)
        }
      }
    }
  }

  deinit { stop() }

  var port: UInt16 { listener.port }

  /// The heads of the requests that came.
  var requests: [String] { heads.withLock { $0 } }

  /// Refuses connections from now on.
  func stop() { listener.stop() }

  var url: String { "http://127.0.0.1:\(port)" }
}

/// One connection of a ``RawOrigin``; closed when the last reference goes.
final class OriginConnection: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        // Safety: the rest of the buffer is read.
        unsafe sendBytes(
          descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, noSignal)
      }
      if count <= 0 { return }
      sent += count
    }
  }

  func readHead() -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
      guard let byte = readByte() else { return "" }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads so many bytes; fewer at the end.
  func read(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        // Safety: recv writes at most the rest of the buffer.
        unsafe recv(descriptor, buffer.baseAddress?.advanced(by: done), count - done, 0)
      }
      if got <= 0 { break }
      done += got
    }
    return Array(bytes[..<done])
  }

  private func readByte() -> UInt8? {
    var byte: UInt8 = 0
    // Safety: recv writes at most one byte into the local.
    return unsafe recv(descriptor, &byte, 1, 0) == 1 ? byte : nil
  }
}
