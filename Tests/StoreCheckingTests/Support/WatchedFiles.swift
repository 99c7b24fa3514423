import CacheSystem
import Synchronization

/// The real files; refuses and counts whatever would change them, and can do something before a file
/// is opened.
final class WatchedFiles: ForwardingFiles {
  private let changes = Mutex<[String]>([])
  private let beforeOpening: @Sendable (PathName) -> Void

  init(beforeOpening: @escaping @Sendable (PathName) -> Void = { _ in }) {
    self.beforeOpening = beforeOpening
  }

  /// The calls that were refused.
  var refused: [String] { changes.withLock { $0 } }

  func willOpen(_ path: PathName, _ options: OpenOptions) throws(SystemError) {
    try willOpen(userPath: path.text, options)
    beforeOpening(path)
  }
  func willOpen(userPath: String, _ options: OpenOptions) throws(SystemError) {
    if !options.isDisjoint(with: [.write, .create]) { try willChange("open \(userPath)") }
  }
  func willLook() {}
  func willChange(_ call: @autoclosure () -> String) throws(SystemError) {
    let name = call()
    changes.withLock { $0.append(name) }
    throw .readOnlyFileSystem
  }
  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try willChange("sync")
  }
}
