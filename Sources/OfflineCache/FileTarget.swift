import CacheSystem
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Writes a file that takes its name when it is complete, on a queue of its own.
final class FileTarget: Sendable {
  /// How much is gathered before it is written, in bytes: a hop to the queue for each piece of a fast
  /// transfer would cost more than the writing.
  private static let writeBytes = 512 << 10

  private struct State {
    /// Nil: there is no hidden file yet, or no longer.
    var descriptor: Int32?
    var gathered: [UInt8] = []
  }

  private let path: String
  private let hiddenPath: String
  private let queue = DispatchQueue(label: "OfflineCache.download")
  // Safety: used on the queue alone.
  private nonisolated(unsafe) var state = State()

  /// Nothing is made before the first bytes come.
  init(_ place: FilePlace) {
    path = place.path
    let unique = String(UInt64.random(in: .min ... .max), radix: 36)
    hiddenPath =
      URL(fileURLWithPath: path).deletingLastPathComponent()
      .appendingPathComponent(".offlinecache-\(unique).part").path
  }

  deinit { dropNow() }

  /// Writes bytes after those before.
  func write(_ bytes: [UInt8]) async throws(URLError) {
    try await run { (target: FileTarget) throws(URLError) in
      unsafe target.state.gathered += bytes
      if unsafe target.state.gathered.count >= Self.writeBytes { try target.flush() }
    }
  }

  /// Writes what is left, and tells of the file as it will be.
  func complete() async throws(URLError) -> FileStatus {
    try await run { (target: FileTarget) throws(URLError) in
      try target.flush()
      let descriptor = try target.opened()
      do throws(SystemError) {
        return try RealFileSystem().status(of: descriptor)
      } catch {
        throw target.failure(.cannotWriteToFile, "it cannot be looked at", error.code)
      }
    }
  }

  /// Makes the file appear under its name, after ``complete()``.
  func moveIntoPlace() async throws(URLError) {
    try await run { (target: FileTarget) throws(URLError) in
      if let descriptor = unsafe target.state.descriptor, close(descriptor) != 0 {
        let number = errno
        unsafe target.state.descriptor = nil
        target.unlinkHidden()
        throw target.failure(.cannotCloseFile, "it cannot be written", number)
      }
      unsafe target.state.descriptor = nil
      // Safety: both names are passed as zero-terminated copies that live during the call.
      guard unsafe rename(target.hiddenPath, target.path) == 0 else {
        let number = errno
        target.unlinkHidden()
        throw target.failure(.cannotMoveFile, "it cannot be put in place", number)
      }
    }
  }

  /// Removes what has been written.
  func abandon() async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        dropNow()
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
    let descriptor = try opened()
    let bytes = unsafe state.gathered
    unsafe state.gathered = []
    var done = 0
    while done < bytes.count {
      // Safety: the rest of the array is read.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Foundation.write(descriptor, start + done, bytes.count - done)
      }
      if count < 0 {
        guard errno == EINTR else {
          throw failure(.cannotWriteToFile, "it cannot be written", errno)
        }
        continue
      }
      done += count
    }
  }

  private func opened() throws(URLError) -> Int32 {
    if let descriptor = unsafe state.descriptor { return descriptor }
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    // Safety: the name is passed as a zero-terminated copy that lives during the call.
    let descriptor = unsafe open(hiddenPath, flags, 0o666)
    guard descriptor >= 0 else {
      throw failure(.cannotCreateFile, "no file can be made beside it", errno)
    }
    unsafe state.descriptor = descriptor
    return descriptor
  }

  private func dropNow() {
    guard let descriptor = unsafe state.descriptor else { return }
    unsafe state.descriptor = nil
    close(descriptor)
    unlinkHidden()
  }

  private func unlinkHidden() {
    // Safety: the name is passed as a zero-terminated copy that lives during the call.
    _ = unsafe unlink(hiddenPath)
  }

  private func failure(_ code: URLError.Code, _ what: String, _ number: Int32) -> URLError {
    let error = SystemError(number)
    return URLError(
      code, url: nil,
      cause: "\(path): \(what) (\(error)); check its folder, its rights and the space on the disk",
      underlying: error)
  }
}
