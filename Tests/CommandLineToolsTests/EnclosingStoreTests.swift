import CacheFormat
import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import CommandLineTools

@Suite struct EnclosingStoreTests {
  private let temporary = TemporaryFolder()
  private var root: String { temporary.path + "/store" }

  init() throws {
    let files = FileManager.default
    try files.createDirectory(atPath: root + "/entries", withIntermediateDirectories: true)
    let description = StoreDescription(
      id: .init(high: 1, low: 2), hashSeed: 3, created: Timestamp(nanoseconds: 4))
    try Data(description.encoded()).write(to: URL(filePath: root + "/store.json"))
    // Not that of a store.
    try Data("{}".utf8).write(to: URL(filePath: temporary.path + "/store.json"))
    try files.createSymbolicLink(
      atPath: temporary.path + "/link", withDestinationPath: root + "/entries")
    try files.createSymbolicLink(
      atPath: temporary.path + "/file", withDestinationPath: root + "/store.json")
  }

  @Test(arguments: [
    "store", "store/", "store/store.json", "store/new", "store/entries/aa/bb", "store//entries/",
    "store/entries/../new", "link", "link/new", "file", "./store/new", "none/../store/entries",
  ])
  func `a path in the folder of a store is refused`(path: String) throws {
    let path = Argument("\(temporary.path)/\(path)")
    let error = #expect(throws: OutputError.self) { try checkOutput(path) }
    let name = Argument(bytes: try #require(UserPath.real(Array(root.utf8))))
    #expect(
      error?.description == "\(path): this is in the folder of the store \(name), which must hold "
        + "nothing else; choose another place")
  }

  @Test func `a file that is only read may be anywhere, a new one not`() throws {
    try checkOutput(Argument(root + "/store.json"), isRead: true)
    #expect(throws: OutputError.self) {
      try checkOutput(Argument(root + "/new"), isRead: true)
    }
  }

  @Test(arguments: [
    "", "new", "store.json", "stores/new", "store/../new", "none/none/new", "none/..",
  ])
  func `other paths are not`(path: String) throws {
    try checkOutput(Argument("\(temporary.path)/\(path)"))
  }

  @Test(arguments: ["new-file-of-no-store", "/new-file-of-no-store", "/", "."])
  func `neither are those of the root and of the current folder`(path: String) throws {
    try checkOutput(Argument(path))
  }

  @Test func `a store may be in its own folder, but not in that of another one`() throws {
    try checkStore(Argument(root))
    try checkStore(Argument(temporary.path + "/new"))
    #expect(throws: OutputError.self) { try checkStore(Argument(root + "/new")) }
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"))
  func `neither output nor a new store goes through what another user has planted`() throws {
    let shared = temporary.path + "/shared"
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(mkdir(shared, 0o700) == 0)
    for (name, target) in [("link", temporary.path), ("store", root)] {
      let link = "\(shared)/\(name)"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      unsafe #expect(lchown(link, 65_534, 65_534) == 0)
    }
    unsafe #expect(chmod(shared, 0o1777) == 0)
    let path = Argument("\(shared)/link/new")
    for check in [{ try checkOutput($0) }, { try checkStore($0) }] as [(Argument) throws -> Void] {
      let error = #expect(throws: OutputError.self) { try check(path) }
      #expect(
        error?.description == "\(path): \(shared)/link belongs to another user, who may have put "
          + "it there; choose another place")
    }
    // One that is there is opened, or refused for its own reasons.
    try checkStore(Argument(shared + "/store"))
  }

  @Test func `a link that leads to itself is not said to be planted`() throws {
    let loop = temporary.path + "/loop"
    try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
    for end in ["", "/new"] {
      #expect(throws: OutputError(path: loop + end, errno: ELOOP)) {
        try checkOutput(Argument(loop + end))
      }
    }
  }

  @Test func `program state is not written there`() throws {
    let file = try StateFile(named: "name", in: root + "/state")
    let problem = #expect(throws: StateFile.Problem.self) { try file.save([1]) }
    #expect(problem?.text.contains("would be in the folder of the store ") == true)
    #expect(!FileManager.default.fileExists(atPath: root + "/state"))
  }
}
