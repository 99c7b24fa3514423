import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

/// The folder of a key file, which goes away with it.
private final class KeyFolder: Sendable {
  private let parent = TemporaryFolder()
  var path: String { parent.path + "/key" }
  var file: String { path + "/state/fingerprint.key" }
  private let problems = Mutex<[FingerprintKeyError]>([])

  func key() -> FingerprintKey {
    FingerprintKey(path: file) { error in self.problems.withLock { $0.append(error) } }
  }

  var causes: [FingerprintKeyError.Cause] { problems.withLock { $0.map(\.cause) } }

  func put(_ bytes: [UInt8], mode: Int = 0o600) throws {
    try FileManager.default.createDirectory(
      atPath: path + "/state", withIntermediateDirectories: true)
    try? FileManager.default.removeItem(atPath: file)
    try Data(bytes).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
  }
}

struct FingerprintKeyFileTests {
  private let secret = Array("Basic c2VjcmV0".utf8)
  @Test func `the file is made with the first fingerprint, for its owner alone, and used again`()
    throws
  {
    let folder = KeyFolder()
    let key = folder.key()
    #expect(!FileManager.default.fileExists(atPath: folder.path))
    let fingerprint = key.fingerprint(of: secret)
    #expect(fingerprint.count == 32)
    #expect(key.fingerprint(of: secret) == fingerprint)
    #expect(key.fingerprint(of: secret + [0]) != fingerprint)
    #expect(folder.key().fingerprint(of: secret) == fingerprint)
    let made = try FileManager.default.attributesOfItem(atPath: folder.file)
    #expect(made[.posixPermissions] as? Int == 0o600)
    #expect(made[.size] as? Int == 32)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state").count == 1)
    #expect(folder.causes.isEmpty)
  }

  @Test func `those that begin at the same time have the same key`() async {
    let folder = KeyFolder()
    let keys = (0..<8).map { _ in folder.key() }
    let all = await withTaskGroup(of: [UInt8].self) { group in
      for key in keys { group.addTask { [secret] in key.fingerprint(of: secret) } }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(all.count == 1)
  }

  @Test func `a temporary key in use does not hide the problem of the file, nor its key`() throws {
    let folder = KeyFolder()
    try folder.put([1, 2, 3])
    let key = folder.key()
    let temporary = key.fingerprint(of: secret)
    #expect(throws: FingerprintKeyError.self) { try key.load() }
    #expect(key.fingerprint(of: secret) == temporary)
    try folder.put(Array(repeating: 7, count: 32))
    try key.load()
    #expect(key.fingerprint(of: secret) == folder.key().fingerprint(of: secret))
    #expect(folder.causes.count == 1)
  }

  @Test func `a lost file gives another key`() throws {
    let folder = KeyFolder()
    let old = folder.key().fingerprint(of: secret)
    try FileManager.default.removeItem(atPath: folder.file)
    #expect(folder.key().fingerprint(of: secret) != old)
    #expect(folder.causes.isEmpty)
  }

  @Test(
    arguments: [
      (0, 0o600, FingerprintKeyError.Cause.length(0)), (31, 0o600, .length(31)),
      (33, 0o600, .length(33)), (32, 0o640, .mode(0o640)), (32, 0o606, .mode(0o606)),
    ])
  func `a file that is no key, or that others may use, is not used and told once`(
    count: Int, mode: Int, cause: FingerprintKeyError.Cause
  ) throws {
    let folder = KeyFolder()
    let bytes = [UInt8](repeating: 1, count: count)
    try folder.put(bytes, mode: mode)
    let key = folder.key()
    let fingerprint = key.fingerprint(of: secret)
    // The same until the process ends.
    #expect(folder.key().fingerprint(of: secret) == fingerprint)
    #expect(key.fingerprint(of: secret) == fingerprint)
    #expect(folder.causes == [cause, cause])
    #expect(FileManager.default.contents(atPath: folder.file) == Data(bytes))
    #expect(throws: FingerprintKeyError(path: folder.file, cause: cause)) {
      try folder.key().load()
    }
  }

  @Test func `links and folders are not followed or used`() throws {
    let folder = KeyFolder()
    try folder.put(Array(repeating: 1, count: 32))
    let other = folder.path + "/other"
    try FileManager.default.linkItem(atPath: folder.file, toPath: other)
    #expect(throws: FingerprintKeyError(path: folder.file, cause: .links(2))) {
      try folder.key().load()
    }
    try FileManager.default.removeItem(atPath: folder.file)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file, withDestinationPath: other)
    #expect(throws: FingerprintKeyError(path: folder.file, cause: .notAFile)) {
      try folder.key().load()
    }
    try FileManager.default.removeItem(atPath: folder.file)
    try FileManager.default.createDirectory(
      atPath: folder.file, withIntermediateDirectories: false)
    #expect(throws: FingerprintKeyError(path: folder.file, cause: .notAFile)) {
      try folder.key().load()
    }
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `a file of another user is not used`() throws {
    let folder = KeyFolder()
    try folder.put(Array(repeating: 1, count: 32))
    try FileManager.default.setAttributes([.ownerAccountID: 12_345], ofItemAtPath: folder.file)
    #expect(throws: FingerprintKeyError(path: folder.file, cause: .owner(12_345))) {
      try folder.key().load()
    }
  }

  @Test func `a folder that cannot be made is an error that says so`() throws {
    let error = #expect(throws: FingerprintKeyError.self) {
      try FingerprintKey(path: "/dev/null/key").load()
    }
    #expect(error?.description.hasPrefix("/dev/null/key: it cannot be read or made (") == true)
    _ = FingerprintKey(path: "/dev/null/key").fingerprint(of: secret)
  }
}
