import CacheSystem
import Foundation
import Testing

@testable import StoreMigration

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct TemporaryFolderTests {
  @Test func `what a killed process has left is removed, what a living one has is not`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Manifest.table)
    let left = sandbox.copies + "/offlinecache-migration-0123456789abcdef"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
    _ = try sandbox.write("copies/offlinecache-migration-0123456789abcdef/source", [1, 2, 3])
    let first = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    let one = try FileManager.default.contentsOfDirectory(atPath: sandbox.copies)
    #expect(one.count == 1 && !FileManager.default.fileExists(atPath: left))
    let second = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    let two = try FileManager.default.contentsOfDirectory(atPath: sandbox.copies)
    #expect(two.count == 2 && Set(two).isSuperset(of: one))
    #expect(first.rowCount == second.rowCount)
  }
  /// What the sweep of another process does to a folder that is not locked yet.
  enum Sweep: CaseIterable {
    case removesFirst, holdsLock
  }

  @Test(arguments: Sweep.allCases)
  func `a folder that another process takes away before it is locked is made again`(
    _ sweep: Sweep
  ) throws {
    let sandbox = try SourceSandbox()
    let files = RealFileSystem()
    var made: [String] = []
    var held: [TakenFolder] = []
    let folder = try TemporaryFolder(in: sandbox.copies) { path in
      made.append(path)
      if made.count > 2 { return }
      switch sweep {
      case .removesFirst: try? FileManager.default.removeItem(atPath: path)
      case .holdsLock:
        if let taken = try? TakenFolder(path, files) { held.append(taken) }
      }
    }
    #expect(made.count == 3 && folder.path == made.last)
    let areLocked = held.map { $0.isLocked }
    #expect(areLocked == (sweep == .holdsLock ? [true, true] : []))
    #expect(FileManager.default.fileExists(atPath: folder.path))
  }

  @Test func `a place where every folder is taken away is busy`() throws {
    let sandbox = try SourceSandbox()
    #expect(throws: SystemError.wouldBlock) {
      _ = try TemporaryFolder(in: sandbox.copies) {
        try? FileManager.default.removeItem(atPath: $0)
      }
    }
  }
}

/// A folder that another process has opened and locked.
private final class TakenFolder {
  private let descriptor: Descriptor
  let isLocked: Bool

  init(_ path: String, _ files: RealFileSystem) throws(SystemError) {
    descriptor = try files.open(userPath: path, [.read, .directory])
    isLocked = try files.tryLock(descriptor)
  }
}
