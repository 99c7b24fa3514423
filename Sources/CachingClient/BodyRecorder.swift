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

  private let store: Store
  private let key: ByteString
  private let metadata: EntryMetadata
  private let state = Mutex(State.collecting([]))

  init(_ store: Store, key: ByteString, metadata: EntryMetadata) {
    self.store = store
    self.key = key
    self.metadata = metadata
  }

  /// Takes the next piece.
  ///
  /// - Returns: the error if the store fails; nothing is stored then, and later pieces are ignored.
  func write(_ piece: [UInt8]) async -> StoreError? {
    let work: (@Sendable () -> StoreError?)? = state.withLock { state in
      switch state {
      case .collecting(var bytes):
        state = .over
        bytes += piece
        guard bytes.count > Self.smallBody else {
          state = .collecting(bytes)
          return nil
        }
        let start = bytes
        return { self.startWriting(start) }
      case .writing(let writer):
        return { self.catching { () throws(StoreError) in try writer.write(piece) } }
      case .over: return nil
      }
    }
    guard let work else { return nil }
    return await BlockingWork.run(work)
  }

  /// Stores what has been taken: the body is complete.
  func commit() async -> Result<EntryInfo, StoreError> {
    let ended = state.withLock { state in
      defer { state = .over }
      return state
    }
    return await BlockingWork.run { [store, key, metadata] in
      Result { () throws(StoreError) in
        switch ended {
        case .collecting(let bytes): try store.put(bytes, for: key, metadata: metadata)
        case .writing(let writer): try writer.commit(metadata: nil)
        case .over: throw BodyRecorder.ended
        }
      }
    }
  }

  /// Lets go of what has been taken: the body will not be complete.
  func discard() {
    let ended = state.withLock { state in
      defer { state = .over }
      return state
    }
    if case .writing(let writer) = ended { writer.discard() }
  }

  private func startWriting(_ bytes: [UInt8]) -> StoreError? {
    catching { () throws(StoreError) in
      let writer = try store.makeWriter(for: key, metadata: metadata)
      state.withLock { $0 = .writing(writer) }
      try writer.write(bytes)
    }
  }

  private func catching(_ work: () throws(StoreError) -> Void) -> StoreError? {
    do throws(StoreError) {
      try work()
      return nil
    } catch {
      discard()
      return error
    }
  }

  private static let ended = StoreError(
    .closed, path: "", cause: "the body was not written to its end", remedy: "fetch it again")
}
