import CacheSystem
import Foundation
import TestSupport
import Testing

/// An empty directory for one test, removed at the end.
final class SystemFolder: Sendable {
  private let folder = TemporaryFolder()
  let files = RealFileSystem()

  var path: String { folder.path }

  /// Opens the directory itself.
  func open() throws(SystemError) -> Descriptor {
    try files.open(userPath: path, [.read, .directory])
  }

  /// Makes a file with `text` and the directories above it.
  func make(_ name: String, _ text: String = "") throws {
    let file = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: "\(path)/\(name)", withDestinationPath: target)
  }

  func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(path)/\(name)").map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

extension SystemError {
  static let isDirectory = SystemError(EISDIR)
  static let notDirectory = SystemError(ENOTDIR)
  static let loop = SystemError(ELOOP)
  static let badDescriptor = SystemError(EBADF)
  static let permission = SystemError(EPERM)
  static let noReader = SystemError(ENXIO)
  static let noSpace = SystemError(ENOSPC)
  static let quota = SystemError(EDQUOT)
  static let tooManyLinks = SystemError(EMLINK)
  static let otherVolume = SystemError(EXDEV)
  static let outOfDescriptors = SystemError(EMFILE)
}

/// The error that `body` throws, or nil.
func error(of body: () throws(SystemError) -> Void) -> SystemError? {
  do throws(SystemError) {
    try body()
    return nil
  } catch {
    return error
  }
}

/// As `#expect`, for what a macro cannot take apart: calls that borrow a descriptor.
func expect(_ isTrue: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(isTrue, sourceLocation: sourceLocation)
}

extension PathName: ExpressibleByStringLiteral {
  public init(stringLiteral value: StaticString) { self.init(value) }
}
