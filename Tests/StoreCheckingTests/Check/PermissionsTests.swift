import CacheSystem
import Testing

@testable import StoreChecking

extension Permissions {
  fileprivate func areRight(_ status: FileStatus) -> Bool {
    suspicions(of: status, path: [], name: nil).isEmpty
  }
}

@Suite struct PermissionsTests {
  private func status(
    _ mode: UInt16, _ kind: FileKind = .file, links: UInt64 = 1, owner: UInt32 = 7
  ) -> FileStatus {
    FileStatus(
      length: 0, allocated: 0, fileNumber: 1, linkCount: links, modified: 0, owner: owner,
      mode: mode, kind: kind)
  }

  @Test func `the owner must read and write, and nobody else anything`() {
    let files = Permissions(owner: 7)
    for mode in UInt16(0)...0o777 {
      let isPrivate = mode & 0o077 == 0
      #expect(files.areRight(status(mode)) == (isPrivate && mode & 0o600 == 0o600), "\(mode)")
      let mayEnter = mode & 0o700 == 0o700
      #expect(files.areRight(status(mode, .directory)) == (isPrivate && mayEnter), "\(mode)")
      // The bits that a file system sets by itself.
      #expect(files.areRight(status(mode)) == files.areRight(status(mode | 0o2000)))
    }
  }

  @Test func `a body with several names needs only be readable`() {
    let bodies = Permissions(owner: 7, ofBodies: true)
    #expect(bodies.areRight(status(0o444, links: 2)) && bodies.areRight(status(0o400, links: 2)))
    #expect(!bodies.areRight(status(0o044, links: 2)))
    #expect(!bodies.areRight(status(0o444)) && bodies.areRight(status(0o600)))
    #expect(!Permissions(owner: 7).areRight(status(0o444, links: 2)))
  }

  @Test func `mode and owner are two suspicions, with the numbers`() {
    let found = Permissions(owner: 7).suspicions(
      of: status(0o664, owner: 8), path: [1], name: nil)
    #expect(found.map(\.kind) == [.wrongMode, .wrongOwner])
    #expect(found.map(\.detail) == ["mode 0664, should be 0600", "user 8, the store is of 7"])
    #expect(found.allSatisfy { $0.path == [1] })
    #expect(Permissions(owner: 7).suspicions(of: status(0o600), path: [], name: nil).isEmpty)
  }

  @Test(arguments: [
    (0, "0000"), (0o7, "0007"), (0o755, "0755"), (0o4755, "4755"), (0o107777, "7777"),
  ])
  func `a mode has at least four digits`(mode: Int, text: String) {
    #expect(octal(UInt16(mode)) == text)
  }
}
