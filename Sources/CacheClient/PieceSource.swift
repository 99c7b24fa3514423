import ContentCoding
import Synchronization

/// The pieces of a body for one reader, one call at a time.
protocol PieceSource: AnyObject, Sendable {
  /// Returns the next piece, never an empty one; `nil` at the end of a complete body.
  func next() async throws(ClientError) -> [UInt8]?

  /// Returns the remaining bytes of a stored body, waiting for the disk at most; `nil` if the body
  /// comes from the network, or has far more coded bytes than the limit.
  ///
  /// - Throws: ``ClientError/Cause/tooLarge(limit:)`` if it is longer than the limit in bytes. All its
  ///   bytes can then still be read, unless they are decoded.
  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]?

  /// The trailer fields; empty before the end.
  var trailers: HTTPFields { get }

  func cancel()
}

extension PieceSource {
  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? { nil }
  var trailers: HTTPFields { [] }
  func cancel() {}
}

final class BytesSource: PieceSource {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: [UInt8]) {
    self.bytes = Mutex(bytes)
  }

  func next() async throws(ClientError) -> [UInt8]? {
    let all = rest()
    return all.isEmpty ? nil : all
  }

  /// Bytes that are already in memory are returned regardless of the limit; the caller checks the
  /// sum.
  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? { rest() }

  private func rest() -> [UInt8] {
    bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
  }
}

final class FileSource: PieceSource {
  /// Returns up to `count` bytes at an offset; `isFirst` before any other read.
  typealias Read =
    @Sendable (_ offset: UInt64, _ count: Int, _ isFirst: Bool) throws(ClientError) -> [UInt8]

  /// The bytes that are read at once: a thousand slow readers must fit into memory.
  static let pieceBytes = 16 * 1024

  private let range: Range<UInt64>
  private let store: AsyncStore
  private let url: String
  private let read: Read
  /// The position of the next byte; `nil` before the first read.
  private let position = Mutex<UInt64?>(nil)

  init(_ range: Range<UInt64>, _ store: AsyncStore, url: String, read: @escaping Read) {
    self.range = range
    self.store = store
    self.url = url
    self.read = read
  }

  func next() async throws(ClientError) -> [UInt8]? {
    let start = position.withLock { $0 }
    let offset = start ?? range.lowerBound
    let count = Int(min(range.upperBound - offset, UInt64(Self.pieceBytes)))
    guard count > 0 else { return nil }
    // Outside of the cooperative pool, as every read of a file.
    let bytes = try await store.perform { [read] _ throws(ClientError) in
      try read(offset, count, start == nil)
    }
    position.withLock { $0 = offset + UInt64(bytes.count) }
    return bytes
  }

  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? {
    let start = position.withLock { $0 }
    let offset = start ?? range.lowerBound
    let count = range.upperBound - offset
    guard count <= UInt64(max(0, limit)) else {
      throw ClientError(.tooLarge(limit: limit), url: url)
    }
    guard count > 0 else { return [] }
    let bytes = try read(offset, Int(count), start == nil)
    position.withLock { $0 = range.upperBound }
    return bytes
  }
}

final class TransportSource: PieceSource {
  private let body: any TransportBody
  private let url: String

  init(_ body: any TransportBody, url: String) {
    self.body = body
    self.url = url
  }

  func next() async throws(ClientError) -> [UInt8]? {
    do {
      return try await body.next()
    } catch {
      throw ClientError(.transport(error), url: url)
    }
  }

  var trailers: HTTPFields { body.trailers }

  func cancel() { body.cancel() }
}

final class JoinedSource: PieceSource {
  private let rest: Mutex<[any PieceSource]>
  private let last: (any PieceSource)?

  init(_ sources: [any PieceSource]) {
    rest = Mutex(sources.reversed())
    last = sources.last
  }

  func next() async throws(ClientError) -> [UInt8]? {
    while let source = rest.withLock({ $0.last }) {
      if let piece = try await source.next() { return piece }
      rest.withLock { _ = $0.popLast() }
    }
    return nil
  }

  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? {
    var bytes: [UInt8] = []
    do throws(ClientError) {
      while let source = rest.withLock({ $0.last }) {
        guard let more = try source.storedBytes(limit: limit - bytes.count) else { return nil }
        bytes += more
        rest.withLock { _ = $0.popLast() }
      }
    } catch {
      rest.withLock { $0.append(BytesSource(bytes)) }
      throw error
    }
    return bytes
  }

  var trailers: HTTPFields { last?.trailers ?? [] }

  func cancel() {
    for source in rest.withLock({ $0 }) { source.cancel() }
  }
}

final class DecodingSource: PieceSource {
  private let coded: any PieceSource
  private let url: String
  private let decoder: Mutex<ContentDecoder>
  private let isOver = Mutex(false)
  private let onDamage: @Sendable () -> Void

  init(
    _ coded: any PieceSource, _ decoder: consuming ContentDecoder, url: String,
    onDamage: @escaping @Sendable () -> Void
  ) {
    self.coded = coded
    self.onDamage = onDamage
    self.url = url
    self.decoder = Mutex(decoder)
  }

  func next() async throws(ClientError) -> [UInt8]? {
    while true {
      if let piece = try decoded() { return piece }
      if isOver.withLock({ $0 }) { return nil }
      if let more = try await coded.next() {
        decoder.withLock { $0.append(more) }
      } else {
        isOver.withLock { $0 = true }
        try finish()
      }
    }
  }

  /// Decodes piece by piece, because a few coded bytes can decode to more than the limit.
  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? {
    let all: [UInt8]?
    do throws(ClientError) {
      all = try coded.storedBytes(limit: Self.codedLimit(limit))
    } catch {
      if case .tooLarge = error.cause { return nil }
      throw error
    }
    guard let all else { return nil }
    decoder.withLock { $0.append(all) }
    var bytes: [UInt8] = []
    while let piece = try decoded() {
      guard bytes.count + piece.count <= limit else {
        coded.cancel()
        throw ClientError(.tooLarge(limit: limit), url: url)
      }
      bytes += piece
    }
    isOver.withLock { $0 = true }
    try finish()
    return bytes
  }

  /// Returns the most coded bytes for a number of bytes of content, which are more if the content cannot
  /// be compressed.
  private static func codedLimit(_ limit: Int) -> Int {
    let (sum, overflow) = limit.addingReportingOverflow(max(0, limit) / 8 + 4096)
    return overflow ? .max : sum
  }

  private func decoded() throws(ClientError) -> [UInt8]? {
    do throws(ContentCodingError) {
      return try decoder.withLock { decoder throws(ContentCodingError) in try decoder.next() }
    } catch {
      throw failure(error)
    }
  }

  private func finish() throws(ClientError) {
    do throws(ContentCodingError) {
      try decoder.withLock { decoder throws(ContentCodingError) in try decoder.finish() }
    } catch {
      throw failure(error)
    }
  }

  private func failure(_ error: ContentCodingError) -> ClientError {
    coded.cancel()
    if error.isDamage { onDamage() }
    return ClientError(.coding(error), url: url)
  }

  var trailers: HTTPFields { coded.trailers }

  func cancel() { coded.cancel() }
}
