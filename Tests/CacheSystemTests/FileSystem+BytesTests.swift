import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct FileSystemBytesTests {
  private let folder = SystemFolder()
  private let files = FaultyFiles()
  @Test(arguments: [1, 2, 3, 7])
  func `short transfers are resumed, at the right place`(step: Int) throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    let text = Array("0123456789abcdef".utf8)
    let steps = Array(repeating: Faults.Step.short(step), count: 20)
    files.faults.play(steps)
    try files.write(file, text, at: 4)
    #expect(folder.text("file") == "\0\0\0\0" + "0123456789abcdef")
    files.faults.play(steps)
    expect(try files.readBytes(file, count: 16, at: 4) == text)
    files.faults.play(steps)
    expect(try files.readBytes(file, count: 100, at: 12) == Array("89abcdef".utf8))
    files.faults.play(steps)
    expect(try files.readFile("file", in: root, expecting: 99) == [0, 0, 0, 0] + text)
    files.faults.play(steps)
    // The byte that shows a longer file may be left out.
    let some = try files.readFile("file", in: root, expecting: 6)
    #expect(some.count >= 6 && ([0, 0, 0, 0] + text).starts(with: some))
  }

  @Test func `a write that takes nothing fails instead of going on for ever`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    files.faults.play([.short(3), .short(0)])
    #expect(
      error { () throws(SystemError) in try files.write(file, Array("text".utf8)) } == .inputOutput)
    #expect(folder.text("file") == "tex")
  }

  @Test func `a file of the expected length costs one read`() throws {
    try folder.make("file", "0123456789")
    let root = try files.open(userPath: folder.path, [.read, .directory])
    files.faults.play([])
    expect(try files.readFile("file", in: root, expecting: 10) == Array("0123456789".utf8))
    #expect(files.faults.calls.count == 2, "opening and reading")
  }

  @Test func `a longer or shorter file than expected shows, for both file systems`() throws {
    try folder.make("file", "0123456789")
    try folder.make("empty")
    try folder.link("link", to: "file")
    let root = try files.open(userPath: folder.path, [.read, .directory])
    for files in [files, RealFileSystem()] as [any FileSystem] {
      for (expected, found) in [(0, 1), (1, 2), (9, 10), (10, 10), (11, 10), (5_000, 10)] {
        let bytes = try files.readFile("file", in: root, expecting: expected)
        #expect(bytes == Array("0123456789".utf8.prefix(found)), "\(expected) expected")
      }
      expect(try files.readFile("empty", in: root, expecting: 0).isEmpty)
      let failures = ["link", "none", "."].map { name in
        error { () throws(SystemError) in
          guard let path = PathName(bytes: Array(name.utf8)) else { return }
          _ = try files.readFile(path, in: root, expecting: 10)
        }
      }
      #expect(failures == [.loop, .notFound, .isDirectory])
    }
  }

  @Test func `a file of another length or kind is not read whole`() throws {
    let files = RealFileSystem()
    try folder.make("file", "12345")
    let root = try folder.open()
    #expect(
      error { () throws(SystemError) in _ = try files.readFile("file", in: root, limit: 4) }
        == .tooLarge)
    try files.makeDirectory("directory", in: root.raw, mode: 0o700)
    #expect(
      error { () throws(SystemError) in _ = try files.readFile("directory", in: root, limit: 4) }
        == .notAFile)
  }

  @Test func `reading a file tells its status, also where it is too long or no file`() throws {
    let files = RealFileSystem()
    try folder.make("file", "12345")
    let root = try folder.open()
    try files.makeDirectory("directory", in: root.raw, mode: 0o700)
    var status: FileStatus?
    expect(try files.readFile("file", in: root, limit: 5, &status) == Array("12345".utf8))
    #expect(status == (try files.status(at: "file", in: root.raw)))
    status = nil
    #expect(
      error { () throws(SystemError) in
        _ = try files.readFile("file", in: root, limit: 4, &status)
      } == .tooLarge)
    #expect(status?.length == 5)
    #expect(
      error { () throws(SystemError) in
        _ = try files.readFile("directory", in: root, limit: 4, &status)
      } == .notAFile)
    #expect(status?.kind == .directory)
    status = nil
    #expect(
      error { () throws(SystemError) in
        _ = try files.readFile("none", in: root, limit: 4, &status)
      } == .notFound)
    #expect(status == nil)
  }

  @Test func `files are compared byte by byte`() throws {
    let files = RealFileSystem()
    try folder.make("one", String(repeating: "x", count: 300_000))
    try folder.make("two", String(repeating: "x", count: 300_000))
    try folder.make("three", String(repeating: "x", count: 299_999) + "y")
    let root = try folder.open()
    let one = try files.open("one", in: root, [.read])
    let two = try files.open("two", in: root, [.read])
    let three = try files.open("three", in: root, [.read])
    expect(files.isEqual(one, two, count: 300_000))
    expect(!files.isEqual(one, three, count: 300_000))
    expect(files.isEqual(one, three, count: 299_999))
    expect(!files.isEqual(one, two, count: 300_001))
    var bytes = [UInt8](repeating: 0x78, count: 300_000)
    expect(files.isEqual(one, bytes))
    bytes[299_999] = 0
    expect(!files.isEqual(one, bytes))
    expect(!files.isEqual(one, bytes + [1]))
  }

  @Test func `bytes replace a file in one rename, or leave it as it is`() throws {
    try folder.make("a", "old")
    let files = RealFileSystem()
    let place = try folder.open()
    try files.replace("a", in: place, with: Array("new".utf8), through: "a.new")
    #expect(folder.text("a") == "new")
    try folder.make("b/c")
    let error = #expect(throws: SystemError.self) {
      try files.replace("b", in: place, with: [1], through: "b.new")
    }
    #expect(error == SystemError(EISDIR))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.sorted() == ["a", "b"])
  }

  @Test func `the left-over of a killed process is replaced, and what another one writes is not`()
    throws
  {
    try folder.make("a.new", "left over")
    let files = RealFileSystem()
    let place = try folder.open()
    try files.replace("a", in: place, with: Array("new".utf8), through: "a.new")
    #expect(folder.text("a") == "new")
    #expect(folder.text("a.new") == nil)
    try folder.make("a.new", "half")
    let other = try files.open("a.new", in: place, [.read])
    expect(try files.tryLock(other))
    try files.replace("a", in: place, with: Array("newer".utf8), through: "a.new")
    #expect(folder.text("a") == "newer")
    #expect(folder.text("a.new") == "half")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
  }
}
