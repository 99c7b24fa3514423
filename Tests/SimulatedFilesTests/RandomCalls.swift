import CacheSystem
import TestSupport

/// Makes calls that a seed decides, and tells what each of them gave.
struct RandomCalls {
  private let files: any FileSystem
  private let root: Int32
  private var open: [Int32] = []
  private var source: SplitMix64

  init(_ files: any FileSystem, root: String, seed: UInt64) {
    self.files = files
    self.root = (try? files.openOnce(userPath: root, [.read, .directory])) ?? -1
    source = SplitMix64(seed: seed)
  }

  private mutating func random(_ count: Int) -> Int { source.below(count) }

  /// A name, also one below a directory and names that no program should use.
  private mutating func name() -> PathName {
    let names = ["a", "b", "c", "d", "a/x", "b/x", "a/b/x", "c/y", "a/x/z"]
    return PathName(bytes: Array(names[random(names.count)].utf8)) ?? PathName("a")
  }

  private mutating func descriptor() -> Int32 { open.isEmpty ? -1 : open[random(open.count)] }

  /// Makes one call.
  mutating func step() -> String {
    let choice = random(18)
    do throws(SystemError) {
      return try choice < 9 ? changeNames(choice) : useFiles(choice)
    } catch {
      return "\(choice) \(error.code) failed"
    }
  }

  private mutating func changeNames(_ choice: Int) throws(SystemError) -> String {
    switch choice {
    case 0, 1, 2:
      let options: [OpenOptions] = [
        [.read], [.read, .write, .create], [.write, .create, .exclusive], [.read, .directory],
        [.read, .write],
      ]
      let (name, option) = (name(), options[random(options.count)])
      let new = try files.openOnce(name, in: root, option, mode: 0o600)
      open.append(new)
      return "open"
    case 3, 4:
      try files.makeDirectory(name(), in: root, mode: 0o700)
      return "makeDirectory"
    case 5:
      try files.removeFile(name(), in: root)
      return "removeFile"
    case 6:
      try files.removeDirectory(name(), in: root)
      return "removeDirectory"
    case 7:
      let (from, to) = (name(), name())
      try files.rename(from, in: root, to: to, in: root)
      return "rename"
    default:
      let (from, to) = (name(), name())
      try files.link(from, in: root, to: to, in: root)
      return "link"
    }
  }

  private mutating func useFiles(_ choice: Int) throws(SystemError) -> String {
    let descriptor = descriptor()
    switch choice {
    case 9, 10:
      let bytes = [UInt8](repeating: UInt8(random(256)), count: random(9000))
      let offset: Int64? = random(2) == 0 ? nil : Int64(random(20_000))
      return "wrote \(try write(bytes, descriptor, offset))"
    case 11, 12:
      return try read(descriptor, random(9000), random(2) == 0 ? nil : Int64(random(20_000)))
    case 13:
      try files.truncateOnce(descriptor, to: Int64(random(12_000)))
      return "truncated"
    case 14:
      try files.synchronizeOnce(descriptor, names: random(2) == 0)
      return "synchronized"
    case 15:
      return describe(try files.status(of: descriptor))
    case 16:
      return describe(try files.status(at: name(), in: root))
    default:
      if random(3) == 0, let place = open.firstIndex(of: descriptor) {
        open.remove(at: place)
        files.close(descriptor)
        return "closed"
      }
      return try list(descriptor)
    }
  }

  private func write(
    _ bytes: [UInt8], _ descriptor: Int32, _ offset: Int64?
  ) throws(SystemError) -> Int {
    var failure: SystemError?
    // Safety: the array outlives the call.
    let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
      do throws(SystemError) {
        return unsafe try files.writeOnce(descriptor, from: buffer, at: offset)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    return count
  }

  private func read(
    _ descriptor: Int32, _ count: Int, _ offset: Int64?
  ) throws(SystemError) -> String {
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: SystemError?
    // Safety: the array outlives the call.
    let got = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
      do throws(SystemError) {
        return unsafe try files.readOnce(descriptor, into: buffer, at: offset)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    let sum = bytes[..<got].reduce(UInt64(0)) { $0 &* 31 &+ UInt64($1) }
    return "read \(got) \(sum)"
  }

  /// What file systems have in common; the numbers of directories are theirs.
  private func describe(_ status: FileStatus) -> String {
    status.kind == .file
      ? "file \(status.length) \(status.linkCount) \(status.mode)" : "\(status.kind)"
  }

  private func list(_ descriptor: Int32) throws(SystemError) -> String {
    var names: [String] = []
    try files.list(descriptor) { name, kind in
      names.append("\(name.text) \(kind)")
      return true
    }
    return "list \(names.sorted())"
  }
}
