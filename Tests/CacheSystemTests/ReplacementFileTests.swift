import CacheSystem
import Foundation
import Testing

@Suite struct ReplacementFileTests {
  private let folder = SystemFolder()

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  private func path(_ name: String) -> [UInt8] { Array("\(folder.path)/\(name)".utf8) }

  @Test func `a hidden file with a given name is locked until it has its final name`() throws {
    let files = RealFileSystem()
    func isFree(_ name: String) throws -> Bool {
      try files.tryLock(files.open(userPath: String(decoding: path(name), as: UTF8.self), [.read]))
    }
    do {
      let file = try ReplacementFile(at: path("a"), through: Array("hidden".utf8))
      #expect(try !isFree("hidden"))
      try file.close()
      #expect(try !isFree("hidden"))
      let other = try ReplacementFile(at: path("a"), through: Array("hidden".utf8))
      try other.write([2])
      try file.moveIntoPlace()
    }
    #expect(try isFree("a"))
    #expect(throws: SystemError.notFound) { try isFree("hidden") }
  }

  @Test func `the old file stays until the new one takes its name`() throws {
    try folder.make("a", "old")
    let file = try ReplacementFile(at: path("a"))
    try file.write(Array("new".utf8))
    try file.write(Array(" one".utf8))
    #expect(folder.text("a") == "old")
    try file.close()
    try file.moveIntoPlace()
    #expect(folder.text("a") == "new one")
    #expect(try names == ["a"])
  }

  @Test func `the permissions of the old file stay, also while it is written`() throws {
    try folder.make("a", "old")
    for mode in [0o600, 0o640, 0o755] {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: "\(folder.path)/a")
      let file = try ReplacementFile(at: path("a"))
      for name in try names {
        let found = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")
        #expect(found[.posixPermissions] as? Int == mode)
      }
      try file.close()
      try file.moveIntoPlace()
      let found = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/a")
      #expect(found[.posixPermissions] as? Int == mode)
    }
  }

  @Test func `what is given up leaves nothing behind`() throws {
    do {
      let file = try ReplacementFile(at: path("a"))
      try file.write([1, 2, 3])
      #expect(try names.count == 1)
    }
    #expect(try names == [])
  }

  @Test func `a name that is taken by a folder is an error, and leaves nothing behind`() throws {
    try folder.make("a/b")
    let file = try ReplacementFile(at: path("a"))
    #expect(throws: SystemError(EISDIR)) { try file.moveIntoPlace() }
    #expect(try names == ["a"])
  }

  @Test func `a folder that is missing is an error`() {
    #expect(throws: SystemError.notFound) { _ = try ReplacementFile(at: path("none/a")) }
  }

  @Test func `a path with a NUL is no other file`() throws {
    try folder.make("a", "old")
    for name in ["a\0", "a\0b", "\0", "none\0/../a"] {
      #expect(throws: SystemError.notFound) { _ = try ReplacementFile(at: path(name)) }
    }
    #expect(try names == ["a"] && folder.text("a") == "old")
  }
}
