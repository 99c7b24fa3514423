import CacheSystem
import Foundation
import TestSupport
import Testing

struct FileTrustTests {
  private func status(
    owner: UInt32, mode: UInt16 = 0o600, kind: FileKind = .file
  ) -> FileStatus {
    FileStatus(
      length: 0, allocated: 0, fileNumber: 1, linkCount: 1, modified: 0, owner: owner, mode: mode,
      kind: kind)
  }

  @Test func `a file is the user's own by kind and owner, and private by its mode`() {
    let user = geteuid()
    #expect(status(owner: user).isOwnFile && status(owner: user).isPrivateFile)
    #expect(!status(owner: user &+ 1).isOwnFile && !status(owner: user &+ 1).isPrivateFile)
    #expect(!status(owner: user, kind: .link).isOwnFile)
    #expect(status(owner: user, mode: 0o644).isPrivateFile)
    #expect(status(owner: user).isSecretFile)
    for mode: UInt16 in [0o644, 0o640, 0o602] {
      #expect(!status(owner: user, mode: mode).isSecretFile)
    }
    for mode: UInt16 in [0o620, 0o602, 0o666] {
      #expect(status(owner: user, mode: mode).isOwnFile)
      #expect(!status(owner: user, mode: mode).isPrivateFile)
    }
  }

  @Test func `the sticky bit keeps the files of others`() {
    let shared = status(owner: 0, mode: 0o1777, kind: .directory)
    let open = status(owner: 0, mode: 0o777, kind: .directory)
    #expect(!status(owner: 2).isReplaceable(in: shared, by: 1))
    #expect(status(owner: 1).isReplaceable(in: shared, by: 1))
    #expect(status(owner: 2).isReplaceable(in: shared, by: 0))
    #expect(status(owner: 2).isReplaceable(in: open, by: 1))
    #expect(
      status(owner: 2).isReplaceable(
        in: status(owner: 1, mode: 0o1777, kind: .directory), by: 1))
  }

  @Test func `a file is planted if neither user, system nor the folder's owner has put it there`() {
    let shared = status(owner: 0, mode: 0o1777, kind: .directory)
    #expect(status(owner: 2).isPlanted(in: shared, for: 1))
    #expect(!status(owner: 1).isPlanted(in: shared, for: 1))
    #expect(!status(owner: 0).isPlanted(in: shared, for: 1))
    #expect(!status(owner: 2).isPlanted(in: status(owner: 0, mode: 0o755), for: 1))
    #expect(!status(owner: 2).isPlanted(in: status(owner: 2, mode: 0o777), for: 1))
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"), arguments: [false, true])
  func `a planted file or link is found by its path`(isLink: Bool) throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/file"
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hosts")
    } else {
      try Data().write(to: URL(fileURLWithPath: path))
    }
    #expect(!UserPath.isPlanted(path) && !UserPath.isPlantedLink(Array(path.utf8)))
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(lchown(path, 65_534, 65_534) == 0)
    #expect(!UserPath.isPlanted(path) && !UserPath.isPlantedLink(Array(path.utf8)))
    unsafe #expect(chmod(folder.path, 0o1777) == 0)
    #expect(UserPath.isPlanted(path) && UserPath.isPlantedLink(Array(path.utf8)) == isLink)
    for end in ["", "/", "/."] {
      #expect((UserPath.planted(on: Array((path + end).utf8)) != nil) == isLink)
    }
    #expect(!UserPath.isPlanted(folder.path + "/none"))
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"))
  func `what is in a planted folder is planted, but in a folder of one's own`() throws {
    let folder = TemporaryFolder()
    let (shared, inner) = (folder.path + "/shared", folder.path + "/shared/out/inner")
    try FileManager.default.createDirectory(
      atPath: inner + "/sub", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(shared)/out/link", withDestinationPath: "inner")
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(chown(shared + "/out", 65_534, 65_534) == 0)
    #expect(UserPath.planted(on: Array(inner.utf8)) == nil)
    unsafe #expect(chmod(shared, 0o1777) == 0)
    for end in [
      "", "/new", "/link", "/link/new", "/inner/..", "/inner/../new", "/inner/../link/new",
      "/../new", "/../../new", "/inner/../inner/sub/../../new", "/inner/none/../../new",
    ] {
      #expect(
        UserPath.planted(on: Array("\(shared)/out\(end)".utf8)) == Array("\(shared)/out".utf8),
        "\(end)")
    }
    for end in [
      "/..", "/out/inner", "/out/inner/new", "/none/../new", "/out/inner/sub/../new",
      "/out/inner/sub/./../none/../new",
    ] {
      #expect(UserPath.planted(on: Array("\(shared)\(end)".utf8)) == nil, "\(end)")
    }
    // A `..` leads back from a link of one's own to what it leads to, and from a folder that will be
    // made to the one in which it is made.
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/own", withDestinationPath: inner)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/deep", withDestinationPath: "own/sub")
    for path in ["own/new", "own/sub/../new", "deep/../new", "deep/../sub/../new"] {
      #expect(UserPath.planted(on: Array("\(folder.path)/\(path)".utf8)) == nil, "\(path)")
    }
    for path in [
      "own/../new", "own/../inner/../new", "shared/none/../out/new", "a/./../b/c/../../shared/out",
      "own/sub/../../new", "deep/../../new", "deep/../none/../../new", "deep/../../inner/../new",
    ] {
      #expect(
        UserPath.planted(on: Array("\(folder.path)/\(path)".utf8)) == Array("\(shared)/out".utf8),
        "\(path)")
    }
    // A group works together.
    unsafe #expect(chmod(shared, 0o2775) == 0)
    #expect(UserPath.planted(on: Array("\(shared)/out/new".utf8)) == nil)
    unsafe #expect(chmod(shared, 0o1777) == 0)
    // Also behind links of one's own; too many of them, as in one to itself, are as bad.
    for (name, target) in [
      ("one", "shared/out"), ("two", folder.path + "/one"), ("loop", "loop/loop"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/\(name)", withDestinationPath: target)
      let found = UserPath.planted(on: Array("\(folder.path)/\(name)/new".utf8))
      #expect(found != nil, "\(name)")
    }
    // A pipe of another user would get what is written.
    unsafe #expect(mkfifo(shared + "/pipe", 0o666) == 0)
    #expect(UserPath.planted(on: Array("\(shared)/pipe".utf8)) == nil)
    unsafe #expect(chown(shared + "/pipe", 65_534, 65_534) == 0)
    #expect(UserPath.planted(on: Array("\(shared)/pipe".utf8)) != nil)
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"))
  func `a planted link is found whose name is no text`() {
    let folder = TemporaryFolder()
    let path = Array("\(folder.path)/p".utf8) + [0xE9]
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(withPath(path) { unsafe symlink("/none", $0) } == 0)
    unsafe #expect(withPath(path) { unsafe lchown($0, 65_534, 65_534) } == 0)
    unsafe #expect(chmod(folder.path, 0o1777) == 0)
    #expect(UserPath.isPlantedLink(path))
  }

  @Test(arguments: [
    ("/a/b/c", "/a/b", "c"), ("a//c", "a/", "c"), ("/c", "/", "c"), ("c", ".", "c"),
    ("a/", "a", ""),
  ])
  func `a path is split at its last slash`(path: String, folder: String, name: String) {
    let parts = UserPath.split(path)
    #expect(parts.folder == folder && parts.name == name)
  }
}
