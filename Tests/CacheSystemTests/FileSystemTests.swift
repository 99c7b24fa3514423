import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct FileSystemTests {
  private let folder = SystemFolder()
  private let files = FaultyFiles()

  private static let interrupted: [Faults.Step] = [.fail(.interrupted), .fail(.interrupted)]

  @Test func `every call that was interrupted is made again`() throws {
    files.faults.play(Self.interrupted)
    let root = try files.open(userPath: folder.path, [.read, .directory])
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    let file = try files.open("file", in: root, [.read, .write, .create])
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    try files.write(file, Array("text".utf8))
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    try files.truncate(file, to: 3)
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    try files.synchronize(file, names: false)
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    try files.lock(file)
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    expect(try files.tryLock(file))
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    expect(try files.readBytes(file, count: 3, at: 0) == Array("tex".utf8))
    expect(files.faults.calls.count == 3)
    files.faults.play(Self.interrupted)
    expect(try files.readFile("file", in: root, expecting: 3) == Array("tex".utf8))
    expect(files.faults.calls.count == 4)
  }

  @Test func `any other failure ends the call at once`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    files.faults.play([.fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in try files.synchronize(file, names: true) } == .inputOutput)
    files.faults.play([.short(2), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in try files.write(file, Array("text".utf8)) } == .inputOutput)
    #expect(files.faults.calls.count == 2)
    files.faults.play([.short(1), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in _ = try files.readBytes(file, count: 2, at: 0) }
        == .inputOutput)
    // The first step is that of opening.
    files.faults.play([.short(9), .short(1), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in _ = try files.readFile("file", in: root, expecting: 9) }
        == .inputOutput)
    files.faults.play([.fail(.inputOutput)])
    #expect(error { () throws(SystemError) in _ = try files.tryLock(file) } == .inputOutput)
  }

  @Test func `a lock that another holds is no error when it is only tried`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    files.faults.play([.fail(.wouldBlock)])
    expect(try !files.tryLock(root))
    files.faults.play([.fail(.wouldBlock)])
    #expect(error { () throws(SystemError) in try files.lock(root) } == .wouldBlock)
  }

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
}
