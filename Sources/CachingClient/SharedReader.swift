import CacheStore
import HTTPSemantics
import HTTPTransport
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

  private struct Position {
    var offset: UInt64 = 0
    var hasLeft = false
  }

  private let shared: SharedBody
  private let number: UInt64
  private let position = Mutex(Position())

  init(_ shared: SharedBody, number: UInt64) {
    self.shared = shared
    self.number = number
  }

  deinit { cancel() }

  func next() async throws(ClientError) -> [UInt8]? {
    while true {
      let offset = position.withLock { $0.offset }
      switch step(at: offset) {
      case .piece(let bytes): return advance(bytes)
      case .staged(let staged, let count):
        do throws(StoreError) {
          return advance(
            try await shared.store.perform { _ throws(StoreError) in
              try staged.read(at: offset, upTo: count)
            })
        } catch { throw ClientError(.store(error), url: shared.url) }
      case .end: return nil
      case .failure(let error): throw error
      case .wait:
        await wait(at: offset)
        if Task.isCancelled {
          throw ClientError(
            .transport(TransportError(.cancelled, url: shared.url)), url: shared.url)
        }
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
    let wasThere = position.withLock { position in
      defer { position.hasLeft = true }
      return !position.hasLeft
    }
    guard wasThere else { return }
    let pump = shared.state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.readers -= 1
      guard state.readers == 0 else { return nil }
      defer { state.pump = nil }
      return state.pump
    }
    pump?.resume()
  }

  private func advance(_ bytes: [UInt8]) -> [UInt8] {
    position.withLock { $0.offset += UInt64(bytes.count) }
    return bytes
  }

  private func step(at offset: UInt64) -> Step {
    shared.state.withLock { state in
      if offset < state.received {
        if offset >= state.last.offset {
          let piece = state.last.piece
          let start = Int(offset - state.last.offset)
          return .piece(start == 0 ? piece : Array(piece[start...]))
        }
        switch state.kept {
        case .memory(let bytes): return .piece(Array(bytes[Int(offset)..<Int(state.received)]))
        case .file(let writer):
          let rest = state.received - offset
          return .staged(
            writer.written, count: Int(min(rest, UInt64(FileSource.pieceBytes))))
        case .nothing: return .failure(lost(state))
        }
      }
      switch state.end {
      case .open: return .wait
      case .complete: return .end
      case .failed(let error): return .failure(error)
      }
    }
  }

  private func lost(_ state: SharedBody.State) -> ClientError {
    if case .notStored(.failed(let error)) = state.storing {
      return ClientError(.store(error), url: shared.url)
    }
    return ClientError(.transport(TransportError(.cancelled, url: shared.url)), url: shared.url)
  }

  /// Asks for more, and waits until there is.
  private func wait(at offset: UInt64) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let (isNow, pump) = shared.state.withLock {
          state -> (Bool, CheckedContinuation<Void, Never>?) in
          guard offset == state.received, case .open = state.end, !Task.isCancelled else {
            return (true, nil)
          }
          state.waiters[number] = continuation
          state.isWanted = true
          defer { state.pump = nil }
          return (false, state.pump)
        }
        if isNow { continuation.resume() }
        pump?.resume()
      }
    } onCancel: {
      shared.state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
