import ContentCoding

/// The form in which the content of a response is available.
public enum BodyContent: Sendable {
  /// All of it, in memory.
  case bytes([UInt8])
  /// A part of a file of the store, which this process has verified: for sendfile(2).
  case file(BodyReader, Range<UInt64>)
  /// A body to read piece by piece; `nil` if its length is unknown.
  case stream(length: UInt64?)
}

/// The body of a response, piece by piece, for one reader.
///
/// Bytes are requested only when they are read. A response from the network that may be stored is
/// stored while it is read; at the end of the body it is in the store. A truncated body is never stored,
/// nor one whose gzip or deflate coding proves damaged. Codings of parts, of completed bodies and of
/// content that is over a hundred times as long are not checked. A body that is not read to its end is
/// stored only if another caller reads it to the end.
public final class ResponseBody: Sendable, AsyncSequence {
  /// A piece of the body, never empty.
  public typealias Element = [UInt8]
  /// The error that ends reading.
  public typealias Failure = ClientError

  /// The form of the content. Using it instead of ``next()`` saves copies.
  public let content: BodyContent

  let source: any PieceSource
  private let storingNow: @Sendable () -> StoringState
  private let keepingNow: @Sendable () -> StoringState

  /// - Parameter keeping: the state of a body that is stored for the history only.
  init(
    _ source: any PieceSource, _ content: BodyContent,
    keeping: (@Sendable () -> StoringState)? = nil, storing: @escaping @Sendable () -> StoringState
  ) {
    self.source = source
    self.content = content
    storingNow = storing
    keepingNow = keeping ?? storing
  }

  /// Whether the response is stored; final at the end of the body.
  public var storing: StoringState { storingNow() }

  /// Whether the response is stored, for reuse or only for the history (RFC 9111, section 6).
  package var keeping: StoringState { keepingNow() }

  /// Whether reading it to its end stores it, for reuse or only for the history. One that is not kept
  /// may have no end.
  package var isKept: Bool {
    if case .notStored = keepingNow() { false } else { true }
  }

  /// Returns the next piece, or `nil` at the end of a complete body.
  ///
  /// Only one call at a time is allowed.
  ///
  /// - Throws: ``ClientError``. The bytes read before are then no complete body. A large stored
  ///   body is verified with its last piece.
  public func next() async throws(ClientError) -> [UInt8]? {
    try await source.next()
  }

  /// The trailer fields of a response from the network; empty before the end of the body.
  public var trailers: HTTPFields { source.trailers }

  /// Releases the body. The transfer behind it ends if no other caller reads it.
  public func cancel() {
    source.cancel()
  }

  /// Removes a content coding.
  ///
  /// - Parameter onDamage: called if the content is damaged, before the error is thrown.
  func decoded(
    _ decoder: consuming ContentDecoder, url: String, onDamage: @escaping @Sendable () -> Void
  ) -> ResponseBody {
    ResponseBody(
      DecodingSource(source, decoder, url: url, onDamage: onDamage), .stream(length: nil),
      keeping: keepingNow,
      storing: storingNow)
  }

  /// Reads a short body to its end, so that it is stored; releases a longer one, and after a second
  /// any, because somebody waits.
  func drain(upTo limit: Int) async {
    let timer = afterASecond { [self] in cancel() }
    defer { timer.cancel() }
    var count = 0
    while count <= limit, let piece = try? await next() { count += piece.count }
    cancel()
  }
}

extension ResponseBody {
  /// Reads the pieces in order.
  public struct Iterator: AsyncIteratorProtocol {
    let body: ResponseBody

    /// Returns the next piece, or nil at the end.
    public mutating func next() async throws(ClientError) -> [UInt8]? {
      try await body.next()
    }

    /// Returns the next piece, or nil at the end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ClientError) -> [UInt8]? {
      try await body.next()
    }
  }

  /// Makes the iterator; all iterators of a body share its position.
  public func makeAsyncIterator() -> Iterator {
    Iterator(body: self)
  }
}
