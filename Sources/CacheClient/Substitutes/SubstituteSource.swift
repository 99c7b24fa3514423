import CacheStore
import CacheSystem
import HTTPSemantics
import Synchronization

/// A part of a substitute's file. If the file is changed while it is read, reading ends with an
/// error, so no body has bytes of two versions.
final class SubstituteSource: PieceSource {
  private let file: SubstituteFile
  private let store: AsyncStore
  private let url: String
  private let end: UInt64
  private let position: Mutex<UInt64>

  init(_ file: SubstituteFile, _ range: Range<UInt64>, _ store: AsyncStore, url: String) {
    self.file = file
    self.store = store
    self.url = url
    end = range.upperBound
    position = Mutex(range.lowerBound)
  }

  func next() async throws(ClientError) -> [UInt8]? {
    let offset = position.withLock { $0 }
    let count = Int(min(end - offset, UInt64(FileSource.pieceBytes)))
    guard count > 0 else { return nil }
    // Outside of the cooperative pool, as every read of a file.
    let bytes = try await store.perform { [self] _ throws(ClientError) in
      try read(offset, count)
    }
    position.withLock { $0 = offset + UInt64(count) }
    return bytes
  }

  func storedBytes(limit: Int) throws(ClientError) -> [UInt8]? {
    let offset = position.withLock { $0 }
    guard end - offset <= UInt64(max(0, limit)) else {
      throw ClientError(.tooLarge(limit: limit), url: url)
    }
    let bytes = try read(offset, Int(end - offset))
    position.withLock { $0 = end }
    return bytes
  }

  private func read(_ offset: UInt64, _ count: Int) throws(ClientError) -> [UInt8] {
    do throws(SystemError) {
      return try file.read(at: offset, count: count)
    } catch {
      let cause =
        error == .wrongLength ? "it was changed while it was read" : "it cannot be read: \(error)"
      let failure = StoreError(
        .inputOutput, path: file.path, offset: offset, errno: error.code, cause: cause,
        remedy: "check who writes to it")
      throw ClientError(.store(failure), url: url)
    }
  }
}
