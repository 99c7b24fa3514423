import CacheSystem
import Synchronization

/// Reads a ``SharedBody`` from its first byte on.
final class SharedReader: PieceSource {
  private enum Step {
    case piece([UInt8])
    case staged(StagedBody, count: Int)
    case end
    case failure(ClientError)
    case wait
  }

  let shared: SharedBody
  private let number: UInt64
  private let position = Mutex<UInt64>(0)

  init(_ shared: SharedBody, number: UInt64) {
    self.shared = shared
    self.number = number
  }

  deinit { cancel() }

  func next() async throws(ClientError) -> [UInt8]? {
    while true {
      let offset = position.withLock { $0 }
      switch step(at: offset) {
      case .piece(let bytes): return advance(bytes)
      case .staged(let staged, let count):
        return advance(try await read(staged, at: offset, upTo: count))
      case .end: return nil
      case .failure(let error): throw error
      case .wait:
        await wait(at: offset)
        if Task.isCancelled { throw shared.cancelled }
      }
    }
  }

  var trailers: HTTPFields {
    let isComplete = shared.state.withLock { state in
      if case .complete = state.end { true } else { false }
    }
    return isComplete ? shared.body.trailers : []
  }

  /// Leaves; the transfer ends when the last reader has left before the end.
  func cancel() {
    shared.leave(number)
  }

  private func read(
    _ staged: StagedBody, at offset: UInt64, upTo count: Int
  ) async throws(ClientError) -> [UInt8] {
    do throws(StoreError) {
      return try await shared.store.perform { store throws(StoreError) in
        let bytes = try staged.read(at: offset, upTo: count)
        guard bytes.isEmpty else { return bytes }
        throw StoreError(
          .damaged, path: store.path, offset: offset,
          cause: "a body that is being stored has been cut off",
          remedy: "fetch it again; check who writes to the store")
      }
    } catch {
      throw ClientError(.store(error), url: shared.url)
    }
  }

  private func advance(_ bytes: [UInt8]) -> [UInt8] {
    position.withLock { $0 += UInt64(bytes.count) }
    return bytes
  }

  private func step(at offset: UInt64) -> Step {
    shared.state.withLock { state in
      if case .complete = state.end, offset == state.received { return .end }
      guard state.readers.contains(number) else { return .failure(shared.cancelled) }
      if offset < state.received { return held(at: offset, state) }
      if case .failed(let error) = state.end { return .failure(error) }
      return .wait
    }
  }

  /// Returns the place of received bytes.
  private func held(at offset: UInt64, _ state: borrowing SharedBody.State) -> Step {
    let last = state.last
    if offset >= last.offset {
      let start = Int(offset - last.offset)
      return .piece(start == 0 ? last.piece : Array(last.piece[start...]))
    }
    switch state.kept {
    case .memory(let bytes): return .piece(Array(bytes[Int(offset)..<Int(last.offset)]))
    case .file(let writer):
      let rest = last.offset - offset
      return .staged(writer.written, count: Int(min(rest, UInt64(FileSource.pieceBytes))))
    }
  }

  private func wait(at offset: UInt64) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let (isNow, pump) = shared.state.withLock {
          state -> (Bool, CheckedContinuation<Void, Never>?) in
          guard offset == state.received, case .open = state.end,
            state.readers.contains(number), !Task.isCancelled
          else { return (true, nil) }
          state.waiters[number] = continuation
          return (false, state.takePump())
        }
        callOut {
          if isNow { continuation.resume() }
          pump?.resume()
        }
      }
    } onCancel: {
      let waiter = shared.state.withLock { $0.waiters.removeValue(forKey: number) }
      if let waiter { callOut { waiter.resume() } }
    }
  }
}
