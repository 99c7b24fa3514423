import CacheSystem
import Foundation
import Testing

@Suite struct RealFileSystemTests {
  private let folder = SystemFolder()
  private let files = RealFileSystem()
  private static let bad: Int32 = 1_000_000

  /// Each call on a descriptor that is none.
  private static let calls: [(String, @Sendable (RealFileSystem) throws(SystemError) -> Void)] = [
    (
      "open",
      { files throws(SystemError) in
        _ = try files.openOnce("a", in: bad, [.read], mode: 0)
      }
    ),
    (
      "read",
      { files throws(SystemError) in
        _ = unsafe try files.readOnce(
          bad, into: UnsafeMutableRawBufferPointer(start: nil, count: 0), at: 0)
      }
    ),
    (
      "write",
      { files throws(SystemError) in
        _ = unsafe try files.writeOnce(
          bad, from: UnsafeRawBufferPointer(start: nil, count: 0), at: 0)
      }
    ),
    ("length", { files throws(SystemError) in _ = try files.length(of: bad) }),
    ("truncate", { files throws(SystemError) in try files.truncateOnce(bad, to: 0) }),
    ("synchronize", { files throws(SystemError) in try files.synchronizeOnce(bad, names: true) }),
    ("status", { files throws(SystemError) in _ = try files.status(of: bad) }),
    ("status at", { files throws(SystemError) in _ = try files.status(at: "a", in: bad) }),
    ("volume", { files throws(SystemError) in _ = try files.volume(of: bad) }),
    (
      "make directory",
      { files throws(SystemError) in
        try files.makeDirectory("a", in: bad, mode: 0o700)
      }
    ),
    ("remove file", { files throws(SystemError) in try files.removeFile("a", in: bad) }),
    ("remove directory", { files throws(SystemError) in try files.removeDirectory("a", in: bad) }),
    (
      "rename",
      { files throws(SystemError) in
        try files.rename("a", in: bad, to: "b", in: bad)
      }
    ),
    ("link", { files throws(SystemError) in try files.link("a", in: bad, to: "b", in: bad) }),
    (
      "change mode",
      { files throws(SystemError) in try files.changeMode(at: "a", in: bad, to: 0o600) }
    ),
    (
      "lock",
      { files throws(SystemError) in
        try files.lockOnce(bad, exclusive: true, wait: false)
      }
    ),
    ("list", { files throws(SystemError) in try files.list(bad) { _, _ in true } }),
    ("list fresh", { files throws(SystemError) in try files.list(fresh: bad) { _, _ in true } }),
  ]

  @Test(arguments: calls.indices)
  func `a descriptor that is none is refused`(which: Int) {
    let (name, call) = Self.calls[which]
    #expect(
      error { () throws(SystemError) in try call(files) } == .badDescriptor, "\(name)")
  }

  @Test func `bytes are written and read where they belong`() throws {
    let root = try folder.open()
    let file = try files.open("file", in: root, [.read, .write, .create])
    try files.write(file, Array("hello".utf8), at: 0)
    try files.write(file, Array("J".utf8), at: 0)
    try files.write(file, Array("end".utf8), at: 7)
    #expect(try files.length(of: file.raw) == 10)
    expect(try files.readBytes(file, count: 100, at: 0) == Array("Jello\0\0end".utf8))
    expect(try files.readBytes(file, count: 3, at: 7) == Array("end".utf8))
    expect(try files.readBytes(file, count: 3, at: 10).isEmpty)
    try files.truncate(file, to: 2)
    #expect(folder.text("file") == "Je")
    try files.synchronize(file, names: false)
    try files.synchronize(file, names: true)
    #expect(
      error { () throws(SystemError) in
        _ = try files.readBytes(root, count: 1, at: 0)
      } == .isDirectory)
  }

  @Test func `the length of a file is known without moving its position`() throws {
    let file = try files.open("file", in: try folder.open(), [.read, .write, .create])
    try files.write(file, Array("hello".utf8), at: 0)
    #expect(try files.length(of: file.raw) == 5)
    #expect(lseek(file.raw, 0, SEEK_CUR) == 0)
  }

  @Test func `a status tells length, links, kind and mode`() throws {
    try folder.make("file", "12345")
    try folder.link("symbolic", to: "file")
    let root = try folder.open()
    try files.link("file", in: root.raw, to: "hard", in: root.raw)
    let file = try files.open("file", in: root, [.read])
    try files.changeMode(at: "file", in: root.raw, to: 0o640)
    let status = try files.status(at: "hard", in: root.raw)
    #expect(status.length == 5)
    #expect(status.linkCount == 2)
    #expect(status.mode == 0o640)
    #expect(status.kind == .file)
    #expect(status.owner == geteuid())
    #expect(status.fileNumber == (try files.status(of: file.raw)).fileNumber)
    #expect(try files.status(at: "symbolic", in: root.raw).kind == .link)
    #expect(try files.status(of: root.raw).kind == .directory)
    #expect(
      error { () throws(SystemError) in _ = try files.status(at: "none", in: root.raw) }
        == .notFound)
  }

  @Test("the mode of a file that cannot be opened is changed, and not that of a link's target")
  func modes() throws {
    try folder.make("file", "12345")
    try folder.link("symbolic", to: "file")
    let root = try folder.open()
    try files.changeMode(at: "file", in: root.raw, to: 0)
    try files.changeMode(at: "file", in: root.raw, to: 0o600)
    // Links have no mode of their own on Linux: the call refuses.
    try? files.changeMode(at: "symbolic", in: root.raw, to: 0o777)
    #expect(try files.status(at: "file", in: root.raw).mode == 0o600)
    // That of a directory is changed although its owner may not enter it.
    for mode in [0o400, 0o700] as [UInt16] {
      try files.changeMode(at: ".", in: root.raw, to: mode)
      #expect(try files.status(of: root.raw).mode == mode)
    }
  }

  @Test func `directories are made, listed and removed`() throws {
    let root = try folder.open()
    try files.makeDirectory("one", in: root.raw, mode: 0o700)
    #expect(try files.status(at: "one", in: root.raw).mode == 0o700)
    #expect(
      error { () throws(SystemError) in
        try files.makeDirectory("one", in: root.raw, mode: 0o700)
      } == .exists)
    try folder.make("one/file")
    #expect(
      error { () throws(SystemError) in try files.removeDirectory("one", in: root.raw) }
        == .notEmpty)
    #expect(
      error { () throws(SystemError) in try files.removeFile("one", in: root.raw) }
        == .isDirectory)
    try files.removeFile("one/file", in: root.raw)
    try files.removeDirectory("one", in: root.raw)
    #expect(
      error { () throws(SystemError) in try files.removeDirectory("one", in: root.raw) }
        == .notFound)
    #expect(
      error { () throws(SystemError) in try files.removeFile("one", in: root.raw) } == .notFound)
    let made = folder.path + "/user"
    try files.makeDirectory(userPath: made, mode: 0o700)
    #expect(
      error { () throws(SystemError) in try files.makeDirectory(userPath: made, mode: 0o700) }
        == .exists)
  }

  @Test func `renaming replaces a file, and fails where it cannot`() throws {
    try folder.make("from", "new")
    try folder.make("to", "old")
    try folder.make("directory/file")
    let root = try folder.open()
    try files.rename("from", in: root.raw, to: "to", in: root.raw)
    #expect(folder.text("to") == "new")
    #expect(folder.text("from") == nil)
    #expect(
      error { () throws(SystemError) in
        try files.rename("from", in: root.raw, to: "to", in: root.raw)
      } == .notFound)
    #expect(
      error { () throws(SystemError) in
        try files.rename("to", in: root.raw, to: "directory", in: root.raw)
      } == .isDirectory)
  }

  @Test func `a link to what is there or is missing fails`() throws {
    try folder.make("one")
    try folder.make("two")
    let root = try folder.open()
    #expect(
      error { () throws(SystemError) in
        try files.link("one", in: root.raw, to: "two", in: root.raw)
      } == .exists)
    #expect(
      error { () throws(SystemError) in
        try files.link("none", in: root.raw, to: "three", in: root.raw)
      } == .notFound)
  }

  @Test func `names are bytes, and listed as such`() throws {
    let root = try folder.open()
    let names: Set<[UInt8]> = [
      [0xff, 0xfe], Array("grün".utf8), [0x0a], Array(repeating: 0x78, count: 255), Array("a".utf8),
    ]
    for name in names {
      let path = try #require(PathName(bytes: name))
      _ = try files.open(path, in: root, [.write, .create])
    }
    try files.makeDirectory("directory", in: root.raw, mode: 0o700)
    try folder.link("link", to: "a")
    var found: [[UInt8]: FileKind] = [:]
    try files.list(root.raw) { name, kind in
      found[name.bytes] = kind
      return true
    }
    #expect(Set(found.keys) == names.union([Array("directory".utf8), Array("link".utf8)]))
    #expect(found[[0xff, 0xfe]] == .file)
    #expect(found[Array("directory".utf8)] == .directory)
    #expect(found[Array("link".utf8)] == .link)
  }

  @Test func `a listing ends when it is told to, and begins anew each time`() throws {
    for number in 0..<20 { try folder.make("file\(number)") }
    let root = try folder.open()
    for limit in [1, 5, 20] {
      var seen = 0
      try files.list(root.raw) { _, _ in
        seen += 1
        return seen < limit
      }
      #expect(seen == limit)
    }
  }

  @Test func `more names than are read at once are listed, each once`() throws {
    let root = try folder.open()
    // About 200 KB, several times what is read at once.
    let names = Set((0..<800).map { "\($0)-" + String(repeating: "x", count: 200) })
    for name in names {
      let path = try #require(PathName(bytes: Array(name.utf8)))
      _ = try files.open(path, in: root, [.write, .create])
    }
    try files.makeDirectory("directory", in: root.raw, mode: 0o700)
    var seen: [String] = []
    try files.list(root.raw) { name, _ in
      seen.append(name.text)
      return true
    }
    #expect(seen.count == 801)
    #expect(Set(seen) == names.union(["directory"]))
    var directories: [String] = []
    var fresh: [String] = []
    let again = try folder.open()
    try files.list(fresh: again.raw) { name, kind in
      fresh.append(name.text)
      if kind == .directory { directories.append(name.text) }
      return true
    }
    #expect(fresh.sorted() == seen.sorted())
    #expect(directories == ["directory"])
  }

  @Test func `nothing is in a directory that was removed while it was open`() throws {
    let root = try folder.open()
    try files.makeDirectory("gone", in: root.raw, mode: 0o700)
    let gone = try files.open("gone", in: root, [.read, .directory])
    try files.removeDirectory("gone", in: root.raw)
    var seen = 0
    try files.list(fresh: gone.raw) { _, _ in
      seen += 1
      return true
    }
    #expect(seen == 0)
  }

  @Test func `a lock excludes another descriptor of the same process`() throws {
    try folder.make("lock")
    let root = try folder.open()
    let one = try files.open("lock", in: root, [.read, .write])
    do {
      let two = try files.open("lock", in: root, [.read, .write])
      expect(try files.tryLock(one))
      expect(try !files.tryLock(two))
      files.unlock(one.raw)
      expect(try files.tryLock(two))
      expect(try !files.tryLock(one))
    }
    expect(try files.tryLock(one))
    files.unlock(one.raw)
    try files.lock(one, exclusive: false)
    let three = try files.open("lock", in: root, [.read])
    try files.lock(three, exclusive: false)
    // Two share it, so neither can have it alone.
    expect(try !files.tryLock(three))
  }

  @Test func `the volume has blocks`() throws {
    let root = try folder.open()
    let volume = try files.volume(of: root.raw)
    #expect(volume.blockBytes >= 512)
    #expect(volume.availableFiles > 0)
  }

  @Test func `a path of the user with a NUL leads nowhere`() throws {
    try folder.make("a", "text")
    for path in ["\(folder.path)/a\0", "\(folder.path)/a\0b", "\(folder.path)\0", "\0"] {
      #expect(throws: SystemError.notFound) { _ = try files.open(userPath: path, [.read]) }
      #expect(throws: SystemError.notFound) { _ = try files.status(userPath: path) }
      #expect(throws: SystemError.notFound) {
        try files.makeDirectory(userPath: path + "/b\0c", mode: 0o700)
      }
    }
    #expect(throws: SystemError.notFound) {
      try files.makeDirectory(userPath: "\(folder.path)/b\0c", mode: 0o700)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
  }
}
