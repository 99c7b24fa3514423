import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import Testing

/// What could not be opened: a failure of a test, unless it damages what is damaged already.
struct Refusal: Error {
  var name: String
  var error: SystemError
}

// What a test does to the files of a store, by their paths below it.
extension CheckSandbox {
  func inside(_ name: String) -> String { "\(root)/\(name)" }

  private func open(_ name: String, _ flags: Int32) throws -> Descriptor {
    let raw = openFile(inside(name), flags)
    guard raw >= 0 else { throw Refusal(name: name, error: SystemError(errno)) }
    return Descriptor(raw, of: RealFileSystem())
  }

  private func succeed(_ result: Int32, _ name: String) throws {
    if result != 0 { throw Refusal(name: name, error: SystemError(errno)) }
  }

  /// The names in a directory, sorted.
  func names(_ name: String) throws -> [String] {
    let directory = try open(name, O_RDONLY)
    var names: [String] = []
    try RealFileSystem().list(directory.raw) { name, _ in
      names.append(name.text)
      return true
    }
    return names.sorted()
  }

  /// The paths of the directories of keys.
  func keys() throws -> [String] {
    try names("entries").flatMap { shard in
      try names("entries/\(shard)").map { "entries/\(shard)/\($0)" }
    }
  }

  /// The paths of the files below the directories of keys with an ending.
  func files(_ suffix: String) throws -> [String] {
    try keys().flatMap { key in
      try names(key).filter { $0.hasSuffix(suffix) }.map { "\(key)/\($0)" }
    }
  }

  /// The only body.
  func body() throws -> String { try #require(try files(".body").first) }
  /// The only metadata file.
  func metadata() throws -> String { try #require(try files(".json").first) }
  /// The directory of the only key.
  func key() throws -> String { try #require(try keys().first) }

  /// The bytes of a file, of a longer one the first 16 MiB: one with a hole may have a terabyte.
  func bytes(_ name: String) throws -> [UInt8] {
    let file = try open(name, O_RDONLY)
    let length = try RealFileSystem().length(of: file.raw)
    return try RealFileSystem().readBytes(file, count: min(Int(length), 1 << 24), at: 0)
  }

  /// Writes a file anew, in place where it is there.
  func write(_ name: String, _ bytes: [UInt8]) throws {
    let file = try open(name, O_WRONLY | O_CREAT | O_TRUNC)
    try RealFileSystem().write(file, bytes)
  }

  func append(_ name: String, _ bytes: [UInt8]) throws {
    try write(name, try self.bytes(name) + bytes)
  }

  func flip(_ name: String, at offset: Int) throws {
    var bytes = try bytes(name)
    bytes[offset < 0 ? bytes.count + offset : offset] ^= 0x10
    try write(name, bytes)
  }

  func cut(_ name: String, by count: Int) throws {
    try write(name, Array(try bytes(name).dropLast(count)))
  }

  /// Makes a file with a hole.
  func stretch(_ name: String, to length: Int) throws {
    let file = try open(name, O_WRONLY | O_CREAT)
    try succeed(ftruncate(file.raw, length), name)
  }

  func remove(_ name: String) throws {
    try succeed(removeFile(inside(name)), name)
  }

  func removeTree(_ name: String) throws {
    for inner in (try? names(name)) ?? [] { try removeTree("\(name)/\(inner)") }
    try remove(name)
  }

  func move(_ name: String, to other: String) throws {
    unsafe try succeed(rename(inside(name), inside(other)), name)
  }

  func makeDirectory(_ name: String) throws {
    unsafe try succeed(mkdir(inside(name), 0o700), name)
  }

  func plantLink(_ name: String, to target: String) throws {
    unsafe try succeed(symlink(target, inside(name)), name)
  }

  func plantFifo(_ name: String) throws {
    unsafe try succeed(mkfifo(inside(name), 0o600), name)
  }

  func setMode(_ name: String, _ mode: UInt32) throws {
    unsafe try succeed(chmod(inside(name), mode), name)
  }

  /// Returns where the records of a segment are, up to the first that is none.
  func records(_ segment: String) throws -> [Range<Int>] {
    let bytes = try bytes(segment)
    var found: [Range<Int>] = []
    var place = SegmentHeader.count
    while place + 32 <= bytes.count {
      let length = (0..<4).reduce(0) { $0 | Int(bytes[place + 12 + $1]) << (8 * $1) }
      guard length >= 32 else { break }
      found.append(place..<(place + length))
      place += length
    }
    return found
  }

  /// Copies a file byte by byte.
  func copy(_ name: String, to other: String) throws { try write(other, try bytes(name)) }

  func copyDirectory(_ name: String, to other: String) throws {
    try makeDirectory(other)
    for file in try names(name) { try copy("\(name)/\(file)", to: "\(other)/\(file)") }
  }
}

// Named apart from the methods that call them. A fifo must not block its test.
private func openFile(_ path: String, _ flags: Int32) -> Int32 {
  unsafe open(path, flags | O_NONBLOCK, 0o600)
}
private func removeFile(_ path: String) -> Int32 { unsafe remove(path) }
