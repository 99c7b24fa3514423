extension OfflineCache {
  /// Answers a request as soon as the head has been received, and returns the content byte by byte,
  /// at the reader's pace; see ``data(for:)``.
  ///
  /// If the response may be stored, it is stored while it is read, and is complete in the store
  /// once the end has been read. Releasing the bytes earlier ends the transfer.
  public func bytes(
    for request: URLRequest
  ) async throws(URLError) -> (AsyncBytes, OfflineURLResponse) {
    let asked = try AskedRequest(request, mode: offlineMode)
    let (body, response) = try await answering(asked) { response in response.body }
    return (AsyncBytes(body, url: asked.url), response)
  }

  /// Fetches a URL with `GET` and returns the content byte by byte; see ``bytes(for:)``.
  public func bytes(from url: URL) async throws(URLError) -> (AsyncBytes, OfflineURLResponse) {
    try await bytes(for: URLRequest(url: url))
  }

  /// The bytes of one response, for one reader.
  public struct AsyncBytes: AsyncSequence, Sendable {
    /// A byte.
    public typealias Element = UInt8
    /// The error that ends the reading.
    public typealias Failure = URLError

    let pieces: BodyPieces

    init(_ body: ResponseBody, url: URL) {
      pieces = BodyPieces(body: body, url: url)
    }

    /// Returns an iterator. All iterators share the body: a new one continues after the last piece
    /// that was read.
    public func makeAsyncIterator() -> Iterator { Iterator(pieces: pieces) }

    /// Ends the transfer.
    public func cancel() { pieces.body.cancel() }

    /// Reads the bytes in order.
    public struct Iterator: AsyncIteratorProtocol {
      @usableFromInline let pieces: BodyPieces
      @usableFromInline var piece: [UInt8] = []
      @usableFromInline var position = 0

      init(pieces: BodyPieces) { self.pieces = pieces }

      /// Returns the next byte, or `nil` at the end.
      @inlinable
      public mutating func next() async throws(URLError) -> UInt8? {
        try await next(isolation: nil)
      }

      /// Returns the next byte, or `nil` at the end.
      @inlinable
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(URLError) -> UInt8? {
        if position == piece.count {
          guard let more = try await pieces.next() else { return nil }
          piece = more
          position = 0
        }
        defer { position += 1 }
        return piece[position]
      }
    }
  }
}

@usableFromInline
final class BodyPieces: Sendable {
  let body: ResponseBody
  private let url: URL

  init(body: ResponseBody, url: URL) {
    self.body = body
    self.url = url
  }

  /// Returns the next piece, which is never empty, or `nil` at the end.
  ///
  /// - Throws: also if the task is cancelled, wherever the body comes from.
  @usableFromInline
  func next() async throws(URLError) -> [UInt8]? {
    do throws(ClientError) {
      if Task.isCancelled {
        body.cancel()
        throw ClientError(.cancelled, url: url.absoluteString)
      }
      return try await body.next()
    } catch {
      throw URLError(error, url: url, isOffline: false)
    }
  }
}
