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
}
