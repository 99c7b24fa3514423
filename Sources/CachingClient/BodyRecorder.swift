import CacheFormat
import CacheStore
import Synchronization

/// Stores a body while it is read. Used by one reader; when it goes away before the end, nothing is
/// stored.
final class BodyRecorder: Sendable {
  /// Bodies up to this many bytes are stored in one step at their end.
  static let smallBody = 64 * 1024

  private enum State {
    case collecting([UInt8])
    case writing(BodyWriter)
    case over
  }

  private let store: AsyncStore
  private let key: ByteString
  private let metadata: EntryMetadata
  private let state = Mutex(State.collecting([]))

  init(_ store: AsyncStore, key: ByteString, metadata: EntryMetadata) {
    self.store = store
    self.key = key
    self.metadata = metadata
  }

  /// Takes the next piece.
  ///
  /// - Returns: the error if the store fails; nothing is stored then, and later pieces are ignored.
  func write(_ piece: [UInt8]) async -> StoreError? {
    guard let step = step(for: piece) else { return nil }
    do throws(StoreError) {
      try await store.perform { store throws(StoreError) in
        switch step {
        case .start(let bytes): try self.startWriting(bytes, store)
        case .append(let writer): try writer.write(piece)
        }
      }
      return nil
    } catch {
      discard()
      return error
    }
  }

  /// Stores what has been taken: the body is complete.
  func commit() async throws(StoreError) -> EntryInfo {
    let ended = takeState()
    return try await store.perform { [key, metadata] store throws(StoreError) in
      switch ended {
      case .collecting(let bytes): try store.put(bytes, for: key, metadata: metadata)
      case .writing(let writer): try writer.commit(metadata: nil)
      case .over: throw BodyRecorder.ended
      }
    }
  }

  /// Lets go of what has been taken: the body will not be complete.
  func discard() {
    if case .writing(let writer) = takeState() { writer.discard() }
  }

  private func takeState() -> State {
    state.withLock { state in
      defer { state = .over }
      return state
    }
  }

  /// What is to be done on the disk.
  private enum Step: Sendable {
    case start([UInt8])
    case append(BodyWriter)
  }

  /// Returns what is to be done for a piece; nil: nothing yet.
  private func step(for piece: [UInt8]) -> Step? {
    state.withLock { state in
      switch state {
      case .collecting(var bytes):
        state = .over
        bytes += piece
        if bytes.count > Self.smallBody { return .start(bytes) }
        state = .collecting(bytes)
        return nil
      case .writing(let writer): return .append(writer)
      case .over: return nil
      }
    }
  }

  private func startWriting(_ bytes: [UInt8], _ store: Store) throws(StoreError) {
    let writer = try store.makeWriter(for: key, metadata: metadata)
    state.withLock { $0 = .writing(writer) }
    try writer.write(bytes)
  }

  private static let ended = StoreError(
    .closed, path: "", cause: "the body was not written to its end", remedy: "fetch it again")
}
