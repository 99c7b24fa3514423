import CLibrary
import CacheSystem

/// A directory below TMPDIR for one input; removed at the end.
final class FuzzFolder {
  let path: String
  private let root: Descriptor
  private let files = RealFileSystem()

  init() {
    // Safety: the environment is not changed by anybody while the program runs.
    let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
    path = "\(parent)/ocfuzz-\(getpid())-\(UInt64.random(in: .min ... .max))"
    do throws(SystemError) {
      try files.makeDirectory(userPath: path, mode: 0o700)
      root = try files.open(userPath: path, [.read, .directory])
    } catch {
      fatalError("\(path): \(error); set TMPDIR to a directory that can be written to")
    }
  }

  deinit {
    Self.removeContent(of: root, files)
    _ = unsafe rmdir(path)
  }

  /// A file by its path from the root, or a directory where `bytes` is nil.
  struct Item {
    var path: [UInt8]
    var bytes: [UInt8]?
  }

  /// Returns all that is there, parents first.
  func items() -> [Item] {
    var items: [Item] = []
    var open: [[UInt8]] = [[]]
    while let parent = open.popLast() {
      let directory = parent.isEmpty ? nil : opened(parent)
      try? files.list(directory ?? root.raw) { name, kind in
        let path = parent + (parent.isEmpty ? [] : [UInt8(ascii: "/")]) + name.bytes
        if kind == .directory { open.append(path) }
        items.append(Item(path: path, bytes: kind == .directory ? nil : read(path)))
        return true
      }
      if let directory { files.close(directory) }
    }
    return items.sorted { $0.path.count < $1.path.count }
  }

  /// Makes a file or a directory.
  func make(_ item: Item) {
    guard let name = PathName(bytes: item.path) else { fatalError("paths of a store are short") }
    do throws(SystemError) {
      guard let bytes = item.bytes else {
        return try files.makeDirectory(name, in: root.raw, mode: 0o700)
      }
      try files.write(try files.open(name, in: root, [.write, .create]), bytes)
    } catch {
      fatalError("\(path)/\(name.text): \(error)")
    }
  }

  private func opened(_ path: [UInt8]) -> Int32? {
    PathName(bytes: path).flatMap {
      try? files.openOnce($0, in: root.raw, [.read, .directory], mode: 0)
    }
  }

  private func read(_ path: [UInt8]) -> [UInt8]? {
    PathName(bytes: path).flatMap { try? files.readFile($0, in: root, limit: 1 << 20) }
  }

  private static func removeContent(of directory: borrowing Descriptor, _ files: RealFileSystem) {
    var names: [(PathName, FileKind)] = []
    try? files.list(directory.raw) { name, kind in
      names.append((name, kind))
      return true
    }
    for (name, kind) in names {
      guard kind == .directory else {
        try? files.removeFile(name, in: directory.raw)
        continue
      }
      if let below = try? files.open(name, in: directory, [.read, .directory]) {
        removeContent(of: below, files)
      }
      try? files.removeDirectory(name, in: directory.raw)
    }
  }
}
