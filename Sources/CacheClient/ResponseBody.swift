public import CacheStore
import ContentCoding
public import HTTPSemantics

/// Says in what form the content of an answer is there.
public enum BodyContent: Sendable {
  /// All of it, in memory.
  case bytes([UInt8])
  /// A part of a file of the store, which this process has verified: for sendfile(2).
  case file(BodyReader, Range<UInt64>)
  /// To be read piece by piece; nil: its length is not known.
  case stream(length: UInt64?)
}

/// Gives the body of an answer piece by piece, to one reader.
///
/// The reader pulls: while nobody asks, nothing is fetched. An answer from the network that may be
/// stored is stored while it is read, and is in the store when the end has been seen. A body that
/// is cut short is never stored, and one that is not read to its end only if somebody else reads
/// it.
public final class ResponseBody: Sendable, AsyncSequence {
  /// A piece of the body, never empty.
  public typealias Element = [UInt8]
  /// The error with which reading ends.
  public typealias Failure = ClientError

  /// Says in what form the content is there; to use that instead of ``next()`` saves copies.
  public let content: BodyContent

  let source: any PieceSource
  private let storingNow: @Sendable () -> StoringState

  init(
    _ source: any PieceSource, _ content: BodyContent,
    storing: @escaping @Sendable () -> StoringState
  ) {
    self.source = source
    self.content = content
    storingNow = storing
  }

  /// Tells what becomes of the answer in the store; settled when the end of the body has been seen.
  public var storing: StoringState { storingNow() }

  /// Returns the next piece, or nil at the end of a complete body.
  ///
  /// One call at a time.
  ///
  /// - Throws: ``ClientError``. What was read before is then no complete body. For a large stored
  ///   body the verdict on its digest comes with its last piece.
  public func next() async throws(ClientError) -> [UInt8]? {
    try await source.next()
  }

  /// Gives the trailer fields of an answer from the network; empty before the end of the body.
  public var trailers: HTTPFields { source.trailers }

  /// Lets go of the body. The transfer behind it ends if nobody else reads it.
  public func cancel() {
    source.cancel()
  }

  /// Takes a content coding off.
  func decoded(_ decoder: consuming ContentDecoder, url: String) -> ResponseBody {
    ResponseBody(
      DecodingSource(source, decoder, url: url), .stream(length: nil), storing: storingNow)
  }

  /// Reads a short body to its end, so that it is stored, and lets go of a longer one.
  func drain(upTo limit: Int) async {
    var count = 0
    while count <= limit, let piece = try? await next() { count += piece.count }
    cancel()
  }
}

extension ResponseBody {
  /// Reads the pieces in turn.
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
