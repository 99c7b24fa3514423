import CacheSystem
import HTTPDownloads

/// A file that gets its name when it is complete. It is written on its own thread.
final class FileTarget: Sendable {
  /// The bytes that are collected before they are written. For a fast transfer, changing to the
  /// thread for each piece would cost more than writing it.
  private static let writeBytes = 512 << 10

  private struct State {
    /// The hidden file, or `nil` if there is none yet or no longer.
    var file: ReplacementFile?
    var gathered: [UInt8] = []
  }

  private let path: String
  /// Whether the file is synced before it takes its name, and the folder after that.
  private let isDurable: Bool
  private let files: any FileSystem
  private let pool = WorkerPool(threads: 1)
  // Safety: used only on the thread.
  private nonisolated(unsafe) var state = State()

  /// Creates a target. No file is created before the first bytes are written.
  init(_ place: FilePlace, isDurable: Bool = false, _ files: any FileSystem = RealFileSystem()) {
    path = place.path
    self.isDurable = isDurable
    self.files = files
  }

  func write(_ bytes: [UInt8]) async throws(URLError) {
    try await pool.call { [self] () throws(URLError) in
      unsafe state.gathered += bytes
      if unsafe state.gathered.count >= Self.writeBytes { try flush() }
    }
  }

  /// Writes the remaining bytes, syncs them if wanted, and returns the status that the file will have.
  func complete() async throws(URLError) -> FileStatus {
    try await pool.call { [self] () throws(URLError) in
      try flush()
      let file = try opened()
      do throws(SystemError) { try synchronize(file.descriptor) } catch {
        throw failure(.cannotWriteToFile, "it cannot be synced", error)
      }
      do throws(SystemError) {
        return try RealFileSystem().status(of: file.descriptor)
      } catch {
        throw failure(.cannotWriteToFile, "it cannot be looked at", error)
      }
    }
  }

  /// Renames the file to its name; called after ``complete()``.
  func moveIntoPlace() async throws(URLError) {
    try await pool.call { [self] () throws(URLError) in
      let file = unsafe state.file
      unsafe state.file = nil
      do throws(SystemError) { try file?.close() } catch {
        throw failure(.cannotCloseFile, "it cannot be written", error)
      }
      do throws(SystemError) { try file?.moveIntoPlace() } catch {
        throw failure(.cannotMoveFile, "it cannot be put in place", error)
      }
      do throws(SystemError) { try synchronizeFolder() } catch {
        throw failure(.cannotMoveFile, "its name cannot be synced", error)
      }
    }
  }

  func abandon() async {
    await pool.call { [self] in unsafe state.file = nil }
  }

  private func synchronize(_ descriptor: Int32) throws(SystemError) {
    guard isDurable else { return }
    try retryOnInterrupt { () throws(SystemError) in
      try files.synchronizeOnce(descriptor, names: true)
    }
  }

  private func synchronizeFolder() throws(SystemError) {
    guard isDurable else { return }
    let folder = try files.open(userPath: UserPath.split(path).folder, [.read, .directory])
    try files.synchronize(folder, names: true)
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
      let file = try Downloader.replacement(at: Array(path.utf8))
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
