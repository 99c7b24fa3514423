import CLibrary
import CacheFormat
import CacheSystem
import CommandLineTools

/// The least that a store of this shape has to ask of the system: bare calls, nothing checked.
///
/// A hit is openat, read and close of one body file. A store is mkdir, two files (body and about
/// 500 bytes of metadata) and a rename. Names have the shape of the real ones:
/// `3f/a07c<26 more>/<32>.body`.
final class FloorSystem: CacheUnderTest {
  struct Value {
    var staged: [CChar]
    var stagedBody: [CChar]
    var stagedMetadata: [CChar]
    var directory: [CChar]
    var finalBody: [CChar]
    var previousBody: [CChar]
    var metadataBeside: [CChar]
    var metadataName: [CChar]
    var body: [UInt8]
    var metadata: [UInt8]
  }

  let name = SystemName.floor
  private let corpus: Corpus
  private let path: String
  private let root: Int32
  private var buffer: [UInt8]
  private var filled = 0

  /// Opens the folder, and makes its 256 shards when it is new.
  init(path: String, corpus: Corpus) throws {
    self.path = path
    self.corpus = corpus
    buffer = [UInt8](repeating: 0, count: corpus.bodyBytes + 1)
    // Safety: the path is a Swift string that is passed as a NUL-terminated one for the call.
    root = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else {
      throw BenchmarkError("floor: \(path): \(SystemError(errno).description)")
    }
    guard unsafe mkdirat(root, "staging", 0o700) == 0 else { return }
    for shard in 0..<256 {
      let name = Hexadecimal.string(UInt64(shard), digits: 2)
      // Safety: as above.
      unsafe mkdirat(root, name, 0o700)
    }
  }

  func makeValue(_ entry: EntryID) -> Value {
    let directory = self.directory(entry.index)
    let staged = "staging/\(entry.index)-\(entry.generation)"
    let body = corpus.bodyName(entry) + ".body"
    let previous = EntryID(index: entry.index, generation: max(0, entry.generation - 1))
    let metadata = "0000000000000000.json"
    return Value(
      staged: cString(staged), stagedBody: cString("\(staged)/\(body)"),
      stagedMetadata: cString("\(staged)/\(metadata)"), directory: cString(directory),
      finalBody: cString("\(directory)/\(body)"),
      previousBody: cString("\(directory)/\(corpus.bodyName(previous)).body"),
      metadataBeside: cString("\(directory)/\(metadata).new"),
      metadataName: cString("\(directory)/\(metadata)"), body: corpus.body(entry),
      metadata: corpus.key(entry.index) + corpus.head(entry))
  }

  func makeKey(_ entry: EntryID) -> [CChar] {
    cString("\(directory(entry.index))/\(corpus.bodyName(entry)).body")
  }

  func store(_ value: Value) throws {
    // Safety: every name is a NUL-terminated array that lives for the call.
    guard unsafe mkdirat(root, value.staged, 0o700) == 0 else { throw failure("mkdirat") }
    try writeFile(value.stagedBody, value.body)
    try writeFile(value.stagedMetadata, value.metadata)
    guard unsafe renameat(root, value.staged, root, value.directory) == 0 else {
      throw failure("renameat")
    }
  }

  func replace(_ value: Value) throws {
    try writeFile(value.finalBody, value.body)
    try writeFile(value.metadataBeside, value.metadata)
    // Safety: every name is a NUL-terminated array that lives for the call.
    guard unsafe renameat(root, value.metadataBeside, root, value.metadataName) == 0 else {
      throw failure("renameat")
    }
    guard unsafe unlinkat(root, value.previousBody, 0) == 0 else { throw failure("unlinkat") }
  }

  func hit(_ key: [CChar]) throws -> Bool {
    // Safety: the key is NUL-terminated; read stays within the buffer, whose length is passed.
    let descriptor = unsafe openat(root, key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    filled = unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe read(descriptor, bytes.baseAddress, bytes.count)
    }
    CLibrary.close(descriptor)
    return filled == corpus.bodyBytes
  }

  func miss(_ key: [CChar]) -> Bool {
    // Safety: the key is NUL-terminated and lives for the call.
    let descriptor = unsafe openat(root, key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return true }
    CLibrary.close(descriptor)
    return false
  }

  func lastBodyEquals(_ body: [UInt8]) -> Bool {
    buffer[..<max(0, filled)].elementsEqual(body)
  }

  func sibling() throws -> any CacheUnderTest {
    try FloorSystem(path: path, corpus: corpus)
  }

  func close() {
    CLibrary.close(root)
  }

  private func directory(_ index: Int) -> String {
    let name = corpus.keyName(index)
    return "\(name.prefix(2))/\(name.dropFirst(2))"
  }

  private func writeFile(_ file: [CChar], _ bytes: [UInt8]) throws {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    // Safety: the path is NUL-terminated; write is given the array and its length.
    let descriptor = unsafe openat(root, file, flags, 0o600)
    guard descriptor >= 0 else { throw failure("openat") }
    let written = unsafe write(descriptor, bytes, bytes.count)
    CLibrary.close(descriptor)
    guard written == bytes.count else {
      throw BenchmarkError(
        "floor: \(path): write: \(written) of \(bytes.count) bytes; is there room?")
    }
  }

  private func failure(_ call: String) -> BenchmarkError {
    BenchmarkError("floor: \(path): \(call): \(SystemError(errno).description)")
  }

  private func cString(_ text: String) -> [CChar] {
    Array(text.utf8CString)
  }
}
