import CacheStore
import HTTPTransport
import Synchronization

/// Gives the body of an answer piece by piece, to one reader.
///
/// The reader pulls: while it does not ask, nothing is fetched. An answer from the network is
/// stored while it is read, and is in the store when the end has been seen; a body that is cut
/// short, or not read to its end, is not stored.
public final class ResponseBody: Sendable, AsyncSequence {
  /// A piece of the body, never empty.
  public typealias Element = [UInt8]
  /// The error with which reading ends.
  public typealias Failure = ClientError

  enum Source: Sendable {
    /// What the store had in one piece, already verified.
    case whole([UInt8])
    case reader(BodyReader, AsyncStore)
    case network(any TransportBody, BodyRecorder?)
    case over
  }

  /// How much of a stored body is read at once, in bytes.
  static let pieceBytes = 256 * 1024

  private let url: String
  private let source: Mutex<Source>
  private let state: Mutex<StoringState>

  init(_ source: Source, url: String, state: StoringState) {
    self.url = url
    self.source = Mutex(source)
    self.state = Mutex(state)
  }

  /// Tells what becomes of the answer in the store; settled when the end of the body has been seen.
  public var storing: StoringState { state.withLock { $0 } }

  /// Returns the next piece, or nil at the end of a complete body.
  ///
  /// One call at a time.
  ///
  /// - Throws: ``ClientError``. What was read before is then no complete body. For a large stored
  ///   body the verdict on its digest comes with its last piece.
  public func next() async throws(ClientError) -> [UInt8]? {
    switch source.withLock({ $0 }) {
    case .whole(let bytes):
      source.withLock { $0 = .over }
      return bytes.isEmpty ? nil : bytes
    case .reader(let reader, let store): return try await read(reader, store)
    case .network(let body, let recorder): return try await receive(body, recorder)
    case .over: return nil
    }
  }

  /// Ends the transfer behind the body, if there is one; the answer is not stored.
  public func cancel() {
    guard case .network(let body, let recorder) = source.withLock({ $0 }) else { return }
    body.cancel()
    recorder?.discard()
    settle(.incomplete)
  }

  private func read(
    _ reader: BodyReader, _ store: AsyncStore
  ) async throws(ClientError) -> [UInt8]? {
    do throws(StoreError) {
      let bytes = try await store.perform { _ throws(StoreError) in
        try reader.read(upTo: Self.pieceBytes)
      }
      if bytes.isEmpty { source.withLock { $0 = .over } }
      return bytes.isEmpty ? nil : bytes
    } catch {
      throw ClientError(.store(error), url: url)
    }
  }

  private func receive(
    _ body: any TransportBody, _ recorder: BodyRecorder?
  ) async throws(ClientError) -> [UInt8]? {
    let piece: [UInt8]?
    do {
      piece = try await body.next()
    } catch {
      recorder?.discard()
      settle(.incomplete)
      throw ClientError(.transport(error), url: url)
    }
    guard let piece else {
      source.withLock { $0 = .over }
      await commit(recorder)
      return nil
    }
    if let error = await recorder?.write(piece) { settle(.failed(error)) }
    return piece
  }

  private func commit(_ recorder: BodyRecorder?) async {
    guard let recorder, case .pending = storing else { return }
    do throws(StoreError) {
      let info = try await recorder.commit()
      state.withLock { $0 = .stored(info) }
    } catch {
      settle(.failed(error))
    }
  }

  /// Notes why the answer is not stored, unless something was settled before.
  private func settle(_ reason: NotStoredReason) {
    state.withLock { state in
      if case .pending = state { state = .notStored(reason) }
    }
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
