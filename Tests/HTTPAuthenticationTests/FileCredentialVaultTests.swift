import CacheSystem
import Foundation
import HTTPSemantics
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import HTTPAuthentication

/// The file of a vault in a folder of its own, which goes away with it.
private final class VaultFolder: Sendable {
  private let parent = TemporaryFolder()
  let files = FaultyFiles()
  var folder: String { parent.path + "/state/offlinecache" }
  var path: String { folder + "/credentials.json" }

  func vault(lockLimit: Duration = .seconds(300)) -> FileCredentialVault {
    FileCredentialVault(path: path, files: files, lockLimit: lockLimit) { _ in }
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  func setMode(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  func put(_ bytes: Data) throws {
    try bytes.write(to: URL(filePath: path))
    try setMode(0o600, path)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct FileCredentialVaultTests {
  private let folder = VaultFolder()
  private let alice = Credential.password(
    user: "alice", password: "wonderland", persistence: .permanent)
  private let bob = Credential.password(user: "bob", password: "builder", persistence: .permanent)

  private static func space(_ realm: String = "r") throws -> ProtectionSpace {
    ProtectionSpace(
      url: try NormalizedURL("https://example.org/"), realm: realm, scheme: .digest)
  }

  /// Calls every method except `removeAll`, and returns the errors.
  private func failures(_ vault: FileCredentialVault) async throws -> [CredentialVaultError] {
    let space = try Self.space()
    var errors: [CredentialVaultError] = []
    do { _ = try await vault.credential(for: space) } catch { errors.append(error) }
    do { try await vault.save(bob, for: space) } catch { errors.append(error) }
    do { try await vault.remove(alice, for: space) } catch { errors.append(error) }
    return errors
  }

  @Test func `what is saved is there for the next vault, for its owner alone`() async throws {
    let vault = folder.vault()
    #expect(try await vault.credential(for: Self.space()) == nil)
    try await vault.save(alice, for: Self.space())
    let found = try await folder.vault().credential(for: Self.space())
    #expect(found == alice && found?.persistence == .permanent)
    #expect(try await folder.vault().credential(for: Self.space("other")) == nil)
    #expect(folder.names == ["credentials.json"])
    #expect(try folder.mode(folder.path) == 0o600)
    #expect(try folder.mode(folder.folder) == 0o700)
  }

  @Test func `all credentials of an origin are found, whatever their realms and schemes`()
    async throws
  {
    let url = try NormalizedURL("https://example.org/a/b")
    #expect(try await folder.vault().credentials(at: url).isEmpty)
    let vault = folder.vault()
    try await vault.save(alice, for: Self.space())
    try await vault.save(bob, for: ProtectionSpace(url: url, realm: "r", scheme: .basic))
    for other in ["http://example.org:443/", "https://example.org:444/", "https://example.com/"] {
      let space = ProtectionSpace(url: try NormalizedURL(other), realm: "r", scheme: .digest)
      try await vault.save(.token("t", persistence: .permanent), for: space)
    }
    #expect(try await folder.vault().credentials(at: url) == [alice, bob])
  }

  @Test func `one that was saved later is not removed for one that was refused`() async throws {
    let vault = folder.vault()
    try await vault.save(alice, for: Self.space())
    try await vault.save(bob, for: Self.space())
    try await vault.remove(alice, for: Self.space())
    #expect(try await vault.credential(for: Self.space()) == bob)
    try await vault.remove(bob, for: Self.space())
    #expect(try await vault.credential(for: Self.space()) == nil)
  }

  @Test func `a file that is not changed is not written`() async throws {
    let vault = folder.vault()
    try await vault.save(alice, for: Self.space())
    try await vault.save(bob, for: Self.space("other"))
    folder.files.faults.set(nil)
    try await vault.save(alice, for: Self.space())
    try await vault.remove(bob, for: Self.space())
    #expect(!folder.files.faults.calls.contains { [.write, .rename].contains($0.kind) })
  }

  @Test func `file and folder are synced, in this order`() async throws {
    folder.files.faults.set(nil)
    try await folder.vault().save(alice, for: Self.space())
    let calls = folder.files.faults.calls.filter { [.synchronize, .rename].contains($0.kind) }
    #expect(calls.map(\.kind) == [.synchronize, .rename, .synchronize])
    #expect(calls.map(\.name) == ["credentials.json.next", "credentials.json", folder.folder])
  }

  @Test(arguments: [0o640, 0o604, 0o644, 0o660, 0o601])
  func `a file that others may use is refused and left as it is`(mode: Int) async throws {
    try await folder.vault().save(alice, for: Self.space())
    let before = try folder.bytes()
    try folder.setMode(mode, folder.path)
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.untrusted, .untrusted, .untrusted])
    #expect(errors.allSatisfy { $0.description.contains("chmod 600") && $0.path == folder.path })
    #expect(try folder.bytes() == before)
    // One that is too long is not set aside either.
    try folder.put(Data(count: CredentialDocument.maximumBytes + 1))
    try folder.setMode(mode, folder.path)
    #expect(try await failures(folder.vault()).map(\.code) == errors.map(\.code))
    #expect(folder.names == ["credentials.json"])
  }

  @Test(arguments: ["symbolic", "hard", "folder"])
  func `a link or a folder in its place is refused`(kind: String) async throws {
    try await folder.vault().save(alice, for: Self.space())
    let real = folder.folder + "/real"
    try FileManager.default.moveItem(atPath: folder.path, toPath: real)
    switch kind {
    case "symbolic":
      try FileManager.default.createSymbolicLink(
        atPath: folder.path, withDestinationPath: real)
    case "hard": try FileManager.default.linkItem(atPath: real, toPath: folder.path)
    default:
      try FileManager.default.createDirectory(
        atPath: folder.path, withIntermediateDirectories: false)
    }
    let before = try Data(contentsOf: URL(filePath: real))
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.untrusted, .untrusted, .untrusted])
    #expect(try Data(contentsOf: URL(filePath: real)) == before)
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `a file of another user is refused`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(lchown(folder.path, 65_534, 65_534) == 0)
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.untrusted, .untrusted, .untrusted])
    #expect(errors.allSatisfy { $0.cause.contains("65534") })
    unsafe #expect(lchown(folder.folder, 65_534, 65_534) == 0)
    await #expect(throws: CredentialVaultError.self) { try await folder.vault().removeAll() }
    #expect(folder.names == ["credentials.json"])
  }

  @Test(arguments: [0o770, 0o707, 0o777, 0o1777])
  func `a folder that others may write to is refused`(mode: Int) async throws {
    try await folder.vault().save(alice, for: Self.space())
    try folder.setMode(mode, folder.folder)
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.untrusted, .untrusted, .untrusted])
    await #expect(throws: CredentialVaultError.self) { try await folder.vault().removeAll() }
    #expect(folder.names == ["credentials.json"])
  }

  @Test(arguments: ["empty", "half", "flipped", "foreign", "huge"])
  func `a damaged file is set aside, once, and nothing of it is shown`(damage: String) async throws
  {
    try await folder.vault().save(alice, for: Self.space())
    var bytes = try folder.bytes()
    switch damage {
    case "empty": bytes = Data()
    case "half": bytes = bytes.prefix(bytes.count / 2)
    case "flipped": bytes[bytes.count / 2] ^= 1
    case "huge": bytes = Data(count: CredentialDocument.maximumBytes + 1)
    default: bytes = Data("wonderland".utf8)
    }
    try folder.put(bytes)
    let error = await #expect(throws: CredentialVaultError.self) {
      try await folder.vault().credential(for: Self.space())
    }
    #expect(error?.code == .damaged)
    #expect(error?.description.contains("\(folder.path).damaged") == true)
    #expect(error?.description.contains("wonder") == false)
    #expect(folder.names == ["credentials.json.damaged"])
    #expect(try Data(contentsOf: URL(filePath: folder.path + ".damaged")) == bytes)
    #expect(try await folder.vault().credential(for: Self.space()) == nil)
    try await folder.vault().save(bob, for: Self.space())
    #expect(try await folder.vault().credential(for: Self.space()) == bob)
    #expect(folder.names == ["credentials.json", "credentials.json.damaged"])
    try await folder.vault().removeAll()
    #expect(folder.names == [])
  }

  @Test func `a damaged file that cannot be renamed is not overwritten`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    try folder.put(Data("x".utf8))
    folder.files.faults.set { $0.kind == .rename ? SystemError(EACCES) : nil }
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.damaged, .damaged, .damaged])
    #expect(try folder.bytes() == Data("x".utf8))
  }

  @Test func `a newer file is refused and left as it is`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    let newer = Data(CredentialDocumentTests.sealed("\"format\": 2"))
    try folder.put(newer)
    let errors = try await failures(folder.vault())
    #expect(errors.map(\.code) == [.newerFormat, .newerFormat, .newerFormat])
    #expect(try folder.bytes() == newer)
  }

  @Test func `a full disk is reported, and the file is as before`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    folder.files.faults.setFull(true)
    let error = await #expect(throws: CredentialVaultError.self) {
      try await folder.vault().save(bob, for: Self.space())
    }
    #expect(error?.code == .noSpace)
    #expect(try await folder.vault().credential(for: Self.space()) == alice)
    #expect(folder.names == ["credentials.json"])
    folder.files.faults.setFull(false)
    try await folder.vault().save(bob, for: Self.space())
    #expect(try await folder.vault().credential(for: Self.space()) == bob)
  }

  @Test func `each call of the system may fail, and no credential is lost`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    var number = 0
    while true {
      let fault = CountedFault(after: number, SystemError(EIO)) { _ in true }
      folder.files.faults.set { fault.check($0) }
      let failed: Bool
      let space = try Self.space("\(number)")
      do throws(CredentialVaultError) {
        try await folder.vault().save(bob, for: space)
        failed = false
      } catch {
        #expect(error.code == .failed, "call \(number)")
        failed = true
      }
      folder.files.faults.set(nil)
      #expect(try await folder.vault().credential(for: Self.space()) == alice, "call \(number)")
      #expect(folder.files.faults.openDescriptors == 0)
      if !fault.hasStruck {
        #expect(!failed)
        break
      }
      number += 1
    }
    #expect(number > 8)
  }

  @Test func `a file that a killed process left half written is no obstacle`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    folder.files.faults.set { call in
      [.rename, .removeFile].contains(call.kind) ? SystemError(EIO) : nil
    }
    await #expect(throws: CredentialVaultError.self) {
      try await folder.vault().save(bob, for: Self.space())
    }
    #expect(folder.names == ["credentials.json", "credentials.json.next"])
    folder.files.faults.set(nil)
    let left = try Data(contentsOf: URL(filePath: folder.path + ".next"))
    #expect(try await folder.vault().credential(for: Self.space()) == alice)
    try await folder.vault().save(bob, for: Self.space())
    #expect(folder.names == ["credentials.json"])
    // It has passwords, too.
    try left.write(to: URL(filePath: folder.path + ".next"))
    folder.files.faults.set(nil)
    try await folder.vault().removeAll()
    #expect(folder.names == [])
    #expect(folder.files.faults.calls.last { $0.kind == .synchronize }?.name == folder.folder)
  }

  @Test func `while another process has the lock credentials are found, and saving ends`()
    async throws
  {
    try await folder.vault().save(alice, for: Self.space())
    let files = RealFileSystem()
    let other = try files.open(userPath: folder.folder, [.read, .directory])
    try files.lock(other)
    let vault = folder.vault(lockLimit: .zero)
    #expect(try await vault.credential(for: Self.space()) == alice)
    #expect(try await vault.credentials(at: NormalizedURL("https://example.org/a")) == [alice])
    let error = await #expect(throws: CredentialVaultError.self) {
      try await vault.save(bob, for: Self.space())
    }
    #expect(error?.code == .failed)
    #expect(error?.description.contains("another process") == true)
    files.unlock(other.raw)
    try await vault.save(bob, for: Self.space())
    #expect(try await vault.credential(for: Self.space()) == bob)
  }

  @Test func `a file that is replaced while it is read is no problem`() async throws {
    try await folder.vault().save(alice, for: Self.space())
    let bytes = try folder.bytes()
    let path = folder.path
    let asked = Lock(0)
    folder.files.faults.set { call in
      // The first status is that of the folder, the second that of the open file.
      guard call.kind == .statusOf,
        asked.withLock({
          $0 += 1; return $0
        }) == 2
      else { return nil }
      try? bytes.write(to: URL(filePath: path + ".new"))
      unsafe chmod(path + ".new", 0o600)
      unsafe rename(path + ".new", path)
      return nil
    }
    #expect(try await folder.vault().credential(for: Self.space()) == alice)
    #expect(asked.withLock { $0 } > 2)
  }

  @Test func `threads with vaults of their own lose no change`() async throws {
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        let vault = folder.vault()
        group.addTask { [alice] in
          for number in 0..<16 {
            await #expect(throws: Never.self) {
              try await vault.save(alice, for: Self.space("\(thread) \(number)"))
            }
          }
        }
      }
    }
    for realm in (0..<64).map({ "\($0 / 16) \($0 % 16)" }) {
      #expect(try await folder.vault().credential(for: Self.space(realm)) == alice, "\(realm)")
    }
  }

  @Test func `processes lose no change`() async throws {
    try await folder.vault().save(alice, for: Self.space("first"))
    async let one: Void = Self.inProcess(folder.path, "one")
    async let two: Void = Self.inProcess(folder.path, "two")
    _ = await (one, two)
    for realm in ["first"] + (0..<20).flatMap({ ["one \($0)", "two \($0)"] }) {
      #expect(try await folder.vault().credential(for: Self.space(realm)) == alice, "\(realm)")
    }
    #expect(folder.names == ["credentials.json"])
  }

  private static func inProcess(_ path: String, _ name: String) async {
    await #expect(processExitsWith: .success) { [path = path as String, name = name as String] in
      let vault = FileCredentialVault(path: path) { _ in }
      for number in 0..<20 {
        try await vault.save(
          .password(user: "alice", password: "wonderland"), for: Self.space("\(name) \(number)"))
      }
    }
  }

  @Test(arguments: ["", "/", "/tmp/", String(repeating: "x", count: 250)])
  func `a path without a name is refused`(path: String) async throws {
    let vault = FileCredentialVault(path: path) { _ in }
    let errors = try await failures(vault)
    #expect(errors.map(\.code) == [.failed, .failed, .failed])
    #expect(errors.allSatisfy { $0.cause.contains("HOME") == path.isEmpty })
  }

  @Test func `neither vault nor errors show a secret`() async throws {
    let vault = folder.vault()
    try await vault.save(alice, for: Self.space())
    var dumped = ""
    dump(vault, to: &dumped)
    try folder.setMode(0o644, folder.path)
    for error in try await failures(vault) {
      dump(error, to: &dumped)
      dumped += "\(error)"
    }
    #expect(dumped.contains(folder.path) && !dumped.contains("wonderland"))
  }
}
