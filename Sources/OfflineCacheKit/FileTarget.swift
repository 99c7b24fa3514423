import CacheSystem
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A file that gets its name when it is complete. It is written on its own queue.
final class FileTarget: Sendable {
  /// The bytes that are collected before they are written. For a fast transfer, changing to the
  /// queue for each piece would cost more than writing it.
  private static let writeBytes = 512 << 10

  private struct State {
    /// The hidden file, or `nil` if there is none yet or no longer.
    var file: ReplacementFile?
    var gathered: [UInt8] = []
  }

  private let path: String
  private let queue = DispatchQueue(label: "OfflineCache.download")
  // Safety: used only on the queue.
  private nonisolated(unsafe) var state = State()

  /// Creates a target. No file is created before the first bytes are written.
  init(_ place: FilePlace) {
    path = place.path
  }

  /// Appends bytes.
  func write(_ bytes: [UInt8]) async throws(URLError) {
    try await run { (target: FileTarget) throws(URLError) in
      unsafe target.state.gathered += bytes
      if unsafe target.state.gathered.count >= Self.writeBytes { try target.flush() }
    }
  }

  /// Writes the remaining bytes and returns the status that the file will have.
  func complete() async throws(URLError) -> FileStatus {
    try await run { (target: FileTarget) throws(URLError) in
      try target.flush()
      let file = try target.opened()
      do throws(SystemError) {
        return try RealFileSystem().status(of: file.descriptor)
      } catch {
        throw target.failure(.cannotWriteToFile, "it cannot be looked at", error)
      }
    }
  }

  /// Renames the file to its name; called after ``complete()``.
  func moveIntoPlace() async throws(URLError) {
    try await run { (target: FileTarget) throws(URLError) in
      let file = unsafe target.state.file
      unsafe target.state.file = nil
      do throws(SystemError) { try file?.close() } catch {
        throw target.failure(.cannotCloseFile, "it cannot be written", error)
      }
      do throws(SystemError) { try file?.moveIntoPlace() } catch {
        throw target.failure(.cannotMoveFile, "it cannot be put in place", error)
      }
    }
  }

  /// Removes the hidden file.
  func abandon() async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        unsafe state.file = nil
        continuation.resume()
      }
    }
  }

  private func run<R: Sendable>(
    _ work: @escaping @Sendable (FileTarget) throws(URLError) -> R
  ) async throws(URLError) -> R {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<R, URLError>, Never>) in
      queue.async { [self] in
        continuation.resume(returning: Result { () throws(URLError) in try work(self) })
      }
    }
    return try result.get()
  }

  private func flush() throws(URLError) {
    let file = try opened()
    let bytes = unsafe state.gathered
    unsafe state.gathered = []
    do throws(SystemError) { try file.write(bytes) } catch {
      throw failure(.cannotWriteToFile, "it cannot be written", error)
    }
  }

  private func opened() throws(URLError) -> ReplacementFile {
    if let file = unsafe state.file { return file }
    do throws(SystemError) {
      let file = try ReplacementFile(at: Array(path.utf8))
      unsafe state.file = file
      return file
    } catch {
      throw failure(.cannotCreateFile, "no file can be made beside it", error)
    }
  }

  private func failure(_ code: URLError.Code, _ what: String, _ error: SystemError) -> URLError {
    URLError(
      code, url: nil,
      cause: "\(path): \(what) (\(error)); check its folder, its rights and the space on the disk",
      underlying: error)
  }
}
