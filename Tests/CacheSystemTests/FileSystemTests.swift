import CacheSystem
import Foundation
import Testing

@Suite struct FileSystemTests {
  private let folder: SystemFolder
  private let files = ScriptedFiles()

  init() throws { folder = try SystemFolder() }

  private static let interrupted: [ScriptedFiles.Step] = [.fail(.interrupted), .fail(.interrupted)]

  @Test func `every call that was interrupted is made again`() throws {
    files.play(Self.interrupted)
    let root = try files.open(userPath: folder.path, [.read, .directory])
    expect(files.calls == 3)
    files.play(Self.interrupted)
    let file = try files.open("file", in: root, [.read, .write, .create])
    expect(files.calls == 3)
    files.play(Self.interrupted)
    try files.write(file, Array("text".utf8))
    expect(files.calls == 3)
    files.play(Self.interrupted)
    try files.truncate(file, to: 3)
    expect(files.calls == 3)
    files.play(Self.interrupted)
    try files.synchronize(file, names: false)
    expect(files.calls == 3)
    files.play(Self.interrupted)
    try files.lock(file)
    expect(files.calls == 3)
    files.play(Self.interrupted)
    expect(try files.tryLock(file))
    expect(files.calls == 3)
    files.play(Self.interrupted)
    expect(try files.readBytes(file, count: 3, at: 0) == Array("tex".utf8))
    expect(files.calls == 3)
    files.play(Self.interrupted)
    expect(try files.readFile("file", in: root, expecting: 3) == Array("tex".utf8))
    // The opening is interrupted twice; the reading is not.
    expect(files.calls == 4)
  }

  @Test func `any other failure ends the call at once`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    files.play([.fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in try files.synchronize(file, names: true) } == .inputOutput)
    files.play([.short(2), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in try files.write(file, Array("text".utf8)) } == .inputOutput)
    #expect(files.calls == 2)
    files.play([.short(1), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in _ = try files.readBytes(file, count: 2, at: 0) }
        == .inputOutput)
    files.play([.short(1), .short(1), .fail(.inputOutput)])
    #expect(
      error { () throws(SystemError) in _ = try files.readFile("file", in: root, expecting: 8) }
        == .inputOutput)
    files.play([.fail(.inputOutput)])
    #expect(error { () throws(SystemError) in _ = try files.tryLock(file) } == .inputOutput)
  }

  @Test func `a lock that another holds is no error when it is only tried`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    files.play([.fail(.wouldBlock)])
    expect(try !files.tryLock(root))
    files.play([.fail(.wouldBlock)])
    #expect(error { () throws(SystemError) in try files.lock(root) } == .wouldBlock)
  }

  @Test(arguments: [1, 2, 3, 7])
  func `short transfers are gone on with, at the right place`(step: Int) throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    let text = Array("0123456789abcdef".utf8)
    let steps = Array(repeating: ScriptedFiles.Step.short(step), count: 20)
    files.play(steps)
    try files.write(file, text, at: 4)
    #expect(folder.text("file") == "\0\0\0\0" + "0123456789abcdef")
    files.play(steps)
    expect(try files.readBytes(file, count: 16, at: 4) == text)
    files.play(steps)
    expect(try files.readBytes(file, count: 100, at: 12) == Array("89abcdef".utf8))
    files.play(steps)
    expect(try files.readFile("file", in: root, expecting: 20).suffix(16).elementsEqual(text))
  }

  @Test func `a write that takes nothing fails instead of going on for ever`() throws {
    let root = try files.open(userPath: folder.path, [.read, .directory])
    let file = try files.open("file", in: root, [.read, .write, .create])
    files.play([.short(3), .nothing])
    #expect(
      error { () throws(SystemError) in try files.write(file, Array("text".utf8)) } == .inputOutput)
    #expect(folder.text("file") == "tex")
  }

  @Test func `a file of the expected length costs one reading`() throws {
    try folder.make("file", "0123456789")
    let root = try files.open(userPath: folder.path, [.read, .directory])
    files.play([])
    expect(try files.readFile("file", in: root, expecting: 10) == Array("0123456789".utf8))
    #expect(files.calls == 2)
    // A longer file shows by the byte more, a shorter one is asked again.
    expect(try files.readFile("file", in: root, expecting: 9).count == 10)
    expect(try files.readFile("file", in: root, expecting: 11).count == 10)
  }
}
