import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Synchronization
import TestSupport
import Testing

/// A store in a directory of its own, to be damaged by hand and checked; removed at the end.
final class CheckSandbox: Sendable {
  private let folder = TemporaryFolder()

  /// The directory of the test, with room for things beside the store.
  var path: String { folder.path }

  var root: String { path + "/store" }

  deinit {
    if let directory = try? RealFileSystem().open(userPath: path, [.read, .directory]) {
      Self.empty(directory)
    }
  }

  private static func empty(_ directory: borrowing Descriptor) {
    let files = RealFileSystem()
    var names: [PathName] = []
    try? files.list(directory.raw) { name, _ in
      names.append(name)
      return true
    }
    for name in names where (try? files.removeFile(name, in: directory.raw)) == nil {
      unsafe _ = fchmodat(directory.raw, name.text, 0o700, 0)
      if let inner = try? files.open(name, in: directory, [.read, .directory]) { empty(inner) }
      try? files.removeDirectory(name, in: directory.raw)
    }
  }

  /// Makes a store with one entry, which has the key `a` and the body 1, 2, 3.
  static func withOneEntry() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1, 2, 3], for: "a") }
    return sandbox
  }

  /// Opens the store, fills it, and closes it. If entries are not settled at once, metadata files have
  /// the small bodies.
  func fill(
    _ options: Options = Options(), settling: Settling = .atOnce, _ body: (Store) throws -> Void
  ) throws {
    var options = options
    options.settling = settling
    let store = try Store(at: root, options: options)
    try body(store)
    try store.settle()
    store.waitUntilIdle()
    store.close()
  }

  /// Checks the store.
  func check(
    _ depth: CheckDepth = .quick, jobs: Int = 1, skipping: Set<UInt8> = [],
    clock: any WallClock = SystemClock(), fileSystem: any FileSystem = RealFileSystem()
  ) throws -> Checked {
    let listener = Listener()
    var options = CheckOptions(depth: depth, jobs: jobs, skippedShards: skipping, clock: clock)
    options.fileSystem = fileSystem
    let report = try StoreChecker(at: root, options: options).run(listener)
    return Checked(report: report, findings: listener.findings, progress: listener.progress)
  }
}

/// What a check gave.
struct Checked {
  var report: CheckReport
  var findings: [Finding]
  var progress: [CheckProgress]

  /// The kinds, sorted by name, each as often as it was found.
  var kinds: [FindingKind] { findings.map(\.kind).sorted { $0.rawValue < $1.rawValue } }
  /// The paths of the findings of a kind.
  func paths(_ kind: FindingKind) -> [String] {
    findings.filter { $0.kind == kind }.map { String(decoding: $0.path, as: UTF8.self) }.sorted()
  }
}

/// Keeps what it hears.
final class Listener: CheckObserver {
  private let heard = Mutex<(findings: [Finding], progress: [CheckProgress])>(([], []))
  var findings: [Finding] { heard.withLock { $0.findings } }
  var progress: [CheckProgress] { heard.withLock { $0.progress } }
  func found(_ finding: Finding) { heard.withLock { $0.findings.append(finding) } }
  func progressed(_ progress: CheckProgress) { heard.withLock { $0.progress.append(progress) } }
}
