import CacheSystem
import HTTPTransports
import Synchronization

/// The pieces of an upload. Files are read on a separate thread.
final class UploadSource: RepeatableBodySource {
  private static let pieceBytes = 256 << 10

  private struct State {
    var segment = 0
    var offset: UInt64 = 0
    var file: OpenFile?
    var sent: UInt64 = 0
  }

  private let body: UploadBody
  private let onProgress: (@Sendable (UploadProgress) -> Void)?
  private let state = Mutex(State())
  private let pool = WorkerPool(threads: 1)

  init(_ body: UploadBody, _ onProgress: (@Sendable (UploadProgress) -> Void)?) {
    self.body = body
    self.onProgress = onProgress
  }

  func again() -> any RequestBodySource { UploadSource(body, onProgress) }

  func next() async throws -> [UInt8]? {
    let number = state.withLock { $0.segment }
    guard number < body.segments.count else { return nil }
    let piece: [UInt8]
    switch body.segments[number] {
    case .bytes(let bytes):
      state.withLock { $0.segment += 1 }
      piece = bytes
    case .file(let file):
      piece = try await pool.call { [self] () throws(UploadError) in try read(file) }
    }
    let sent = state.withLock { state in
      state.sent += UInt64(piece.count)
      return state.sent
    }
    onProgress?(UploadProgress(sent: sent, total: body.length))
    return piece
  }

  private func read(_ file: UploadFile) throws(UploadError) -> [UInt8] {
    let (offset, kept) = state.withLock { ($0.offset, $0.file) }
    let open: OpenFile
    if let kept { open = kept } else { open = OpenFile(try file.open()) }
    let bytes = try file.read(open.descriptor, at: offset, atMost: Self.pieceBytes)
    let end = offset + UInt64(bytes.count)
    state.withLock { state in
      if end == file.length {
        (state.segment, state.offset, state.file) = (state.segment + 1, 0, nil)
      } else {
        (state.offset, state.file) = (end, open)
      }
    }
    return bytes
  }
}
