import CacheFormat
import TestSupport

/// Names one stored response: the how-manieth entry, and which of its successive contents.
struct EntryID: Sendable, Hashable {
  var index: Int
  /// Counts replacements of the same key from 0.
  var generation: Int = 0
}

/// Computes the same keys, bodies and metadata for every system from one seed.
struct Corpus: Sendable {
  let seed: UInt64
  let bodyBytes: Int
  /// How many different bodies there are; nil when no two are equal.
  var distinctBodies: Int?

  /// Returns the key of an entry; it looks like a URL with its method.
  func key(_ index: Int) -> [UInt8] {
    Array("GET \(url(index))".utf8)
  }

  /// Returns the URL of an entry, without a query (URLCache on Linux would ignore it).
  func url(_ index: Int) -> String {
    "https://example.com/assets/\(index)/\(hex(hash(index, salt: 1))).json"
  }

  /// Returns the body of an entry: incompressible, and of a content of its own.
  func body(_ entry: EntryID) -> [UInt8] {
    let content = distinctBodies.map { EntryID(index: entry.index % $0) } ?? entry
    let salt = 2 &+ UInt64(content.generation) << 8
    var generator = SplitMix64(seed: hash(content.index, salt: salt))
    let count = bodyBytes
    // Safety: every byte of the count that is reported is written below, within the capacity.
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      var offset = 0
      while offset + 8 <= count {
        unsafe bytes.storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
        offset += 8
      }
      var rest = generator.next()
      while offset < count {
        unsafe bytes[offset] = UInt8(truncatingIfNeeded: rest)
        rest >>= 8
        offset += 1
      }
      filled = count
    }
  }

  /// Returns the header fields of an entry's response: eight of them, about 350 bytes.
  ///
  /// There is no Expires and no Vary: with either, URLCache on Linux never answers.
  func fields(_ entry: EntryID) -> [(name: String, value: String)] {
    [
      ("Content-Type", "application/json; charset=utf-8"),
      ("Content-Length", String(bodyBytes)),
      ("Date", "Fri, 20 Nov 2026 08:49:37 GMT"),
      ("Last-Modified", "Tue, 17 Nov 2026 17:05:12 GMT"),
      ("ETag", "\"\(hex(hash(entry.index, salt: 3 &+ UInt64(entry.generation))))\""),
      ("Cache-Control", "public, max-age=31536000, immutable"),
      ("Server", "nginx/1.24.0 (edge-7)"),
      ("X-Request-Id", "\(hex(hash(entry.index, salt: 4)))-\(hex(hash(entry.index, salt: 5)))"),
    ]
  }

  /// Returns the response head as one block of text, for systems that keep it as bytes.
  func head(_ entry: EntryID) -> [UInt8] {
    var text = "HTTP/1.1 200 OK\r\n"
    for field in fields(entry) { text += "\(field.name): \(field.value)\r\n" }
    return Array(text.utf8)
  }

  /// Returns 32 hexadecimal digits that stand for the hash of a key.
  func keyName(_ index: Int) -> String {
    hex(hash(index, salt: 6)) + hex(hash(index, salt: 7))
  }

  /// Returns 32 hexadecimal digits that stand for the digest of a body.
  func bodyName(_ entry: EntryID) -> String {
    let salt = UInt64(entry.generation) << 8
    return hex(hash(entry.index, salt: 8 &+ salt)) + hex(hash(entry.index, salt: 9 &+ salt))
  }

  /// Returns the entries of a range in a random order that the seed decides.
  func shuffled(_ range: Range<Int>) -> [EntryID] {
    var generator = SplitMix64(seed: seed &+ 77)
    return range.map { EntryID(index: $0) }.shuffled(using: &generator)
  }

  private func hash(_ index: Int, salt: UInt64) -> UInt64 {
    var first = SplitMix64(seed: seed ^ (salt &* 0xD6E8_FEB8_6659_FD93))
    var second = SplitMix64(seed: first.next() &+ UInt64(bitPattern: Int64(index)))
    return second.next()
  }
}

private func hex(_ number: UInt64) -> String { Hexadecimal.string(number) }
