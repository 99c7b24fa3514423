import CacheSystem
import Foundation
import HTTPTransports

/// Passes the file of a finished download task on, at the pace of the reader. Everything runs on one
/// queue.
final class FilePump: Sendable {
  private static let pieceBytes = 64 << 10

  private let file: FileHandle
  private let task: SessionTask
  private let queue = DispatchQueue(label: "URLSessionTransport.file")

  /// Opens the file. The system removes its name when the delegate returns; an open file stays.
  ///
  /// - Throws: `failed`.
  init(_ location: URL, _ task: SessionTask) throws(TransportError) {
    do { file = try FileHandle(forReadingFrom: location) } catch {
      throw task.transfer.error(.failed, "the downloaded file cannot be read: \(error)")
    }
    self.task = task
  }

  /// Passes pieces on until the reader is behind, or the file ends.
  func run() {
    queue.async { [self] in
      while !task.transfer.hasEnded {
        let data: Data
        do { data = try file.read(upToCount: Self.pieceBytes) ?? Data() } catch {
          return task.fail(task.transfer.error(.truncatedBody, "\(error)"))
        }
        if data.isEmpty { return task.complete(nil) }
        if task.receive(data) { return }
      }
    }
  }
}
