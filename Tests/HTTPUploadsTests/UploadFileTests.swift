import CacheSystem
import Foundation
import HTTPTransports
import TestSupport
import Testing

@testable import HTTPUploads

struct UploadFileTests {
  private let temporary = TemporaryFolder()

  private var folder: URL { temporary.url }

  /// What happens to a file between two pieces.
  enum Change: CaseIterable {
    case grows, shrinks, isWritten, isReplaced, goesAway
  }

  @Test(arguments: Change.allCases)
  func `a file that changes while it is sent ends the upload`(change: Change) async throws {
    let file = folder.appendingPathComponent("f")
    try Data(repeating: 1, count: 1_000_000).write(to: file)
    let body = try UploadBody(file: file.path)
    guard case .stream(_, let source) = body.requestBody() else {
      Issue.record("the body is no stream")
      return
    }
    // Before it is opened for sending, only another file or length can be seen.
    if change == .isReplaced || change == .goesAway {
      try FileManager.default.removeItem(at: file)
      if change == .isReplaced { try Data(repeating: 1, count: 1_000_000).write(to: file) }
    } else {
      _ = try await source.next()
      let handle = try FileHandle(forUpdating: file)
      switch change {
      case .grows: try handle.seekToEnd()
      case .shrinks: try handle.truncate(atOffset: 500_000)
      default: break
      }
      if change != .shrinks { try handle.write(contentsOf: Data([2])) }
      try handle.close()
    }
    let error = await #expect(throws: UploadError.self) {
      while try await source.next() != nil {}
    }
    let cause: UploadError.Cause = change == .goesAway ? .unreadable(.notFound) : .changed
    #expect(error == UploadError(cause, path: file.path))
  }
}
