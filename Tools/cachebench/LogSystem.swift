import CLibrary
import CacheFormat
import CacheSystem
import CommandLineTools

/// The least that a log has to ask of the system: one write at the end of a file, and one pread. The
/// places are in a dictionary. Nothing is locked, checked or ever removed.
final class LogSystem: CacheUnderTest {
  struct Value {
    var index: Int
    var bytes: [UInt8]
  }

  let name = SystemName.log
  private let corpus: Corpus
  private let path: String
  private let file: Int32
  private var end: Int64 = 0
  private var places: [Int: (offset: Int64, length: Int)] = [:]
  private var buffer: [UInt8] = []
  private var filled = 0

  init(path: String, corpus: Corpus) throws {
    self.path = path
    self.corpus = corpus
    // Safety: the path is a Swift string that is passed as a NUL-terminated one for the call.
    file = unsafe open("\(path)/log", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BenchmarkError("log: \(path): \(SystemError(errno).description)") }
  }

  func makeValue(_ entry: EntryID) -> Value {
    Value(
      index: entry.index, bytes: corpus.key(entry.index) + corpus.head(entry) + corpus.body(entry))
  }

  func makeKey(_ entry: EntryID) -> Int { entry.index }

  func store(_ value: Value) throws {
    // Safety: write is given the array and its length.
    let written = unsafe write(file, value.bytes, value.bytes.count)
    guard written == value.bytes.count else {
      throw BenchmarkError(
        "log: \(path): write: \(written) of \(value.bytes.count) bytes; is there room?")
    }
    places[value.index] = (end, value.bytes.count)
    end += Int64(written)
  }

  func hit(_ key: Int) throws -> Bool {
    guard let (offset, length) = places[key] else { return false }
    if buffer.count < length { buffer = [UInt8](repeating: 0, count: length) }
    // Safety: the buffer has room for `length` bytes.
    filled = unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe pread(file, bytes.baseAddress, length, off_t(offset))
    }
    return filled == length
  }

  func miss(_ key: Int) -> Bool { places[key] == nil }

  func lastBodyEquals(_ body: [UInt8]) -> Bool {
    buffer[..<max(0, filled)].suffix(body.count).elementsEqual(body)
  }

  func sibling() throws -> any CacheUnderTest {
    throw BenchmarkError("log: it is for one thread")
  }

  func close() { CLibrary.close(file) }
}
