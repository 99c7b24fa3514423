import CacheFormat
import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import CommandLineTools

@Suite(.timeLimit(.minutes(1))) struct StateFileTests {
  private let temporary = TemporaryFolder()
  private var folder: String { temporary.path + "/state/offlinecache" }
  private var path: String { folder + "/name" }

  private func file(_ name: String = "name") throws(StateFile.Problem) -> StateFile {
    try StateFile(named: name, in: folder)
  }

  /// The names in the folder.
  private var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  /// The text of the problem that a call has; nil for none.
  private func problem(_ work: () throws(StateFile.Problem) -> Void) -> String? {
    do throws(StateFile.Problem) { try work() } catch { return error.text }
    return nil
  }

  @Test func `what was saved is read, by this user alone, and can be replaced and removed`() throws
  {
    let file = try file()
    #expect(file.path == path)
    #expect(try file.load(limit: 10) == nil)
    #expect(try !file.removeIfThere())
    for bytes in [[1, 2, 3], [], [4]] as [[UInt8]] {
      try file.save(bytes)
      #expect(try file.load(limit: bytes.count, isSecret: true) == bytes)
      #expect(names == ["name"])
    }
    #expect(try mode(path) == 0o600)
    #expect(try mode(folder) == 0o700)
    #expect(try file.removeIfThere())
    #expect(try !file.removeIfThere())
    #expect(names.isEmpty)
  }

  @Test func `one byte more than the limit is a problem, and is not read`() throws {
    let file = try file()
    try file.save([1, 2, 3])
    #expect(problem { () throws(StateFile.Problem) in _ = try file.load(limit: 2) } != nil)
    #expect(try file.load(limit: 3) == [1, 2, 3])
    #expect(problem { () throws(StateFile.Problem) in _ = try file.load(limit: 0) } != nil)
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "a\0b", String(repeating: "x", count: 256)])
  func `what is no name of a file is refused`(name: String) {
    #expect(throws: StateFile.Problem.self) { try file(name) }
  }

  @Test func `without a folder there is no file`() {
    #expect(throws: StateFile.Problem.self) { try StateFile(named: "name", in: nil) }
  }

  /// What somebody else has put in place of the file.
  enum Planted: CaseIterable {
    case link, danglingLink, secondName, groupMayWrite, allMayWrite, folder, pipe
  }

  @Test(arguments: Planted.allCases)
  func `what others may have written is no state, and is not written through`(planted: Planted)
    throws
  {
    let file = try file()
    try file.save([1])
    let other = temporary.path + "/other"
    try Data([7]).write(to: URL(fileURLWithPath: other))
    let files = FileManager.default
    switch planted {
    case .link, .danglingLink, .folder, .pipe: try files.removeItem(atPath: path)
    case .secondName: try files.linkItem(atPath: path, toPath: temporary.path + "/second")
    case .groupMayWrite: try files.setAttributes([.posixPermissions: 0o620], ofItemAtPath: path)
    case .allMayWrite: try files.setAttributes([.posixPermissions: 0o602], ofItemAtPath: path)
    }
    switch planted {
    case .link: try files.createSymbolicLink(atPath: path, withDestinationPath: other)
    case .danglingLink: try files.createSymbolicLink(atPath: path, withDestinationPath: other + "2")
    case .folder: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .pipe: #expect(unsafe mkfifo(path, 0o600) == 0)
    case .secondName, .groupMayWrite, .allMayWrite: break
    }
    let text = problem { () throws(StateFile.Problem) in _ = try file.load(limit: 10) }
    #expect(text?.hasPrefix(path) == true)
    let refusal = problem { () throws(StateFile.Problem) in try file.save([2]) }
    #expect((refusal != nil) == (planted == .folder))
    #expect(names == ["name"])
    #expect(files.contents(atPath: other) == Data([7]))
    #expect(!files.fileExists(atPath: other + "2"))
    if planted != .folder { #expect(try file.load(limit: 10, isSecret: true) == [2]) }
  }

  @Test func `a secret that others can read is a problem of its own`() throws {
    let file = try file()
    try file.save([1])
    for mode in [0o640, 0o604, 0o644] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(try file.load(limit: 10) == [1])
      let error = #expect(throws: StateFile.Problem.self) {
        try file.load(limit: 10, isSecret: true)
      }
      #expect(error?.isExposed == true && error?.text.contains(String(mode, radix: 8)) == true)
    }
  }

  @Test func `where no folder can be made nothing is saved, and nothing is there`() throws {
    try Data().write(to: URL(fileURLWithPath: temporary.path + "/state"))
    let file = try file()
    let text = problem { () throws(StateFile.Problem) in try file.save([1]) }
    #expect(text?.hasPrefix("\(path) cannot be written") == true)
    #expect(problem { () throws(StateFile.Problem) in _ = try file.load(limit: 1) } != nil)
    file.remove()
  }

  @Test func `of two that save at once one wins, and nothing of the other is left`() async throws {
    let one = try file()
    try await withThrowingTaskGroup { group in
      for number in 0..<8 {
        let other = try file()
        group.addTask {
          for _ in 0..<20 { try other.save([UInt8](repeating: UInt8(number), count: 1000)) }
        }
      }
      try await group.waitForAll()
    }
    let bytes = try #require(try one.load(limit: 1000))
    #expect(bytes.count == 1000 && Set(bytes).count == 1)
    #expect(names == ["name"])
  }

  @Test func `the id of a store is read, and nothing else is taken for it`() throws {
    let path = temporary.path
    let json = URL(fileURLWithPath: path + "/store.json")
    func id(_ path: String) -> String? { try? StateFile.storeID(path) }
    #expect(id(path) == nil && id(path + "/none") == nil && id("") == nil)
    for text in ["", "{}", "{\"id\": 1}", String(repeating: " ", count: 1 << 20)] {
      try Data(text.utf8).write(to: json)
      #expect(id(path) == nil, "\(text.prefix(10))")
    }
  }
}
