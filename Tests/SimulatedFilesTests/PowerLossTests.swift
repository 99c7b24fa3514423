import CacheSystem
import SimulatedFiles
import Testing

/// What a power cut leaves on a simulated volume.
@Suite struct PowerLossTests {
  private let volume = SimulatedVolume()
  private let process: SimulatedProcess
  private let root: Int32

  init() throws {
    process = SimulatedProcess(on: volume)
    root = try process.openOnce(userPath: "/", [.read, .directory])
  }

  private func name(_ text: String) -> PathName { PathName(bytes: Array(text.utf8)) ?? PathName() }

  /// Makes or opens a file and writes bytes at its beginning.
  private func write(_ text: String, _ count: Int, value: UInt8 = 1) throws -> Int32 {
    let file = try process.openOnce(name(text), in: root, [.read, .write, .create], mode: 0o600)
    // Safety: the array outlives the call.
    try unsafe [UInt8](repeating: value, count: count).withUnsafeBytes {
      _ = unsafe try process.writeOnce(file, from: $0, at: 0)
    }
    return file
  }

  /// The lengths of the files that are left where only what is sure is left.
  private func left(_ profile: PowerLossProfile) -> [String: UInt64] {
    volume.afterPowerLoss(profile, seed: nil).tree.mapValues(\.length)
  }

  @Test(arguments: PowerLossProfile.allCases)
  func `what was not synced is gone, and what was settled is not`(profile: PowerLossProfile) throws
  {
    _ = try write("old", 10)
    volume.settle()
    _ = try write("new", 10)
    try process.removeFile(name("old"), in: root)
    #expect(left(profile) == ["old": 10])
  }

  @Test func `a settled volume keeps a removed file until it is closed`() throws {
    let file = try write("f", 10)
    try process.removeFile(name("f"), in: root)
    volume.settle()
    #expect(try process.status(of: file).length == 10)
    process.close(file)
    volume.settle()
    #expect(left(.posix) == [:])
  }

  @Test func `bytes are synced by their file, names by their directory`() throws {
    let file = try write("f", 10)
    try process.synchronizeOnce(file, names: true)
    #expect(left(.posix) == [:])
    #expect(left(.ext4) == ["f": 10])
    #expect(left(.apfs) == ["f": 10])
    try process.synchronizeOnce(root, names: true)
    #expect(left(.posix) == ["f": 10])
  }

  @Test func `another file's sync makes names durable in their order, not bytes`() throws {
    _ = try write("body", 5000)
    let journal = try write("journal", 10)
    try process.synchronizeOnce(journal, names: false)
    #expect(left(.ext4) == ["body": 0, "journal": 10])
    #expect(left(.apfs) == ["body": 0, "journal": 10])
  }

  @Test func `fdatasync makes no name durable on ext4`() throws {
    let file = try write("f", 10)
    try process.synchronizeOnce(file, names: true)
    try process.rename(name("f"), in: root, to: name("g"), in: root)
    try process.synchronizeOnce(file, names: false)
    #expect(left(.ext4) == ["f": 10])
    try process.synchronizeOnce(file, names: true)
    #expect(left(.ext4) == ["g": 10])
  }

  @Test func `a rename that replaces flushes the bytes on ext4 alone`() throws {
    _ = try write("g", 10)
    volume.settle()
    _ = try write("f", 20)
    try process.rename(name("f"), in: root, to: name("g"), in: root)
    try process.synchronizeOnce(root, names: true)
    #expect(left(.ext4) == ["g": 20])
    #expect(left(.apfs) == ["g": 0])
    #expect(left(.posix) == ["g": 0])
  }

  @Test func `after a failed sync a later one saves nothing`() throws {
    let file = try write("f", 10)
    try process.synchronizeOnce(root, names: true)
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) { $0.kind == .synchronize })
    #expect(throws: SystemError.inputOutput) { try process.synchronizeOnce(file, names: true) }
    process.setFault(nil)
    try process.synchronizeOnce(file, names: true)
    #expect(left(.posix) == ["f": 0])
  }

  @Test func `seeds choose all that may be left, and the same each time`() throws {
    _ = try write("f", 3 * 4096)
    volume.settle()
    _ = try write("f", 3 * 4096, value: 2)
    _ = try write("g", 6000)
    var names: Set<[String]> = []
    var bytes: Set<[UInt8]> = []
    for seed in 1...60 as ClosedRange<UInt64> {
      let after = volume.afterPowerLoss(.posix, seed: seed)
      names.insert(after.tree.keys.sorted())
      let content = try content("f", after)
      #expect(content.count == 3 * 4096 && content.allSatisfy { $0 == 1 || $0 == 2 })
      bytes.insert([content[0], content[4095], content[4096], content[8192]])
      #expect(try self.content("f", volume.afterPowerLoss(.posix, seed: seed)) == content)
    }
    #expect(names == [["f"], ["f", "g"]])
    // Each page is the old one, the new one, or torn.
    #expect(bytes.count >= 8)
    #expect(bytes.contains { $0[0] == 2 && $0[1] == 1 })
  }

  private func content(_ text: String, _ volume: SimulatedVolume) throws -> [UInt8] {
    let process = SimulatedProcess(on: volume)
    let root = try process.open(userPath: "/", [.read, .directory])
    return try process.readFile(name(text), in: root, limit: 1 << 20)
  }

  @Test func `a rename is there whole or not at all`() throws {
    _ = try write("f", 10)
    volume.settle()
    try process.makeDirectory(name("d"), in: root, mode: 0o700)
    try process.rename(name("f"), in: root, to: name("g"), in: root)
    var seen: Set<[String]> = []
    for seed in 1...40 as ClosedRange<UInt64> {
      seen.insert(volume.afterPowerLoss(.posix, seed: seed).tree.keys.sorted())
    }
    #expect(seen == [["f"], ["g"], ["d", "f"], ["d", "g"]])
    seen = []
    for seed in 1...40 as ClosedRange<UInt64> {
      seen.insert(volume.afterPowerLoss(.ext4, seed: seed).tree.keys.sorted())
    }
    #expect(seen == [["f"], ["d", "f"], ["d", "g"]])
  }
}
