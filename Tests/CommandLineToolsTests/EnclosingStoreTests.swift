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
    let error = #expect(throws: OutputError.self) { try checkOutsideStores(path) }
    let name = Argument(bytes: try #require(UserPath.real(Array(root.utf8))))
    #expect(
      error?.description == "\(path): this is in the folder of the store \(name), which must hold "
        + "nothing else; choose another place")
  }

  @Test func `a file that is only read may be anywhere, a new one not`() throws {
    try checkOutsideStores(Argument(root + "/store.json"), isRead: true)
    #expect(throws: OutputError.self) {
      try checkOutsideStores(Argument(root + "/new"), isRead: true)
    }
  }

  @Test(arguments: [
    "", "new", "store.json", "stores/new", "store/../new", "none/none/new", "none/..",
  ])
  func `other paths are not`(path: String) throws {
    try checkOutsideStores(Argument("\(temporary.path)/\(path)"))
  }

  @Test(arguments: ["new-file-of-no-store", "/new-file-of-no-store", "/", "."])
  func `neither are those of the root and of the current folder`(path: String) throws {
    try checkOutsideStores(Argument(path))
  }

  @Test func `a store may be in its own folder, but not in that of another one`() throws {
    try checkOutsideOtherStores(Argument(root))
    try checkOutsideOtherStores(Argument(temporary.path + "/new"))
    #expect(throws: OutputError.self) { try checkOutsideOtherStores(Argument(root + "/new")) }
  }

  @Test func `program state is not written there`() throws {
    let file = try StateFile(named: "name", in: root + "/state")
    let problem = #expect(throws: StateFile.Problem.self) { try file.save([1]) }
    #expect(problem?.text.contains("would be in the folder of the store ") == true)
    #expect(!FileManager.default.fileExists(atPath: root + "/state"))
  }
}
