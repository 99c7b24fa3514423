import CacheFormat
import CacheStore

/// Bodies that can be told from any other: made of their key and a number.
enum ProbeBody {
  /// - Parameter count: the bytes after the first line; nil for one of some typical lengths.
  static func make(_ key: String, _ version: Int, count: Int? = nil) -> [UInt8] {
    var state = Digest(hashing: Array("\(key) \(version)".utf8)).low | 1
    let typical = [10, 700, 5_000, 20_000, 0, 4_096, 66_000][version % 7] + version % 100
    var body = Array("\(key) \(version) \(count ?? typical)\n".utf8)
    body.reserveCapacity(body.count + (count ?? typical))
    for _ in 0..<(count ?? typical) {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      body.append(UInt8(truncatingIfNeeded: state >> 56))
    }
    return body
  }

  static func isGenuine(_ body: [UInt8], for key: String) -> Bool {
    guard let end = body.firstIndex(of: 10), end < 200 else { return false }
    let words = String(decoding: body[..<end], as: UTF8.self).split(separator: " ")
    guard words.count == 3, words[0] == key, let version = Int(words[1]), version >= 0,
      let count = Int(words[2]), count == body.count - end - 1
    else { return false }
    return body == make(key, version, count: count)
  }
}

/// What a key has, as one word in the lines of a workload: the digest of the body, that of the user
/// info, and whether it is pinned.
struct Value: Hashable, CustomStringConvertible {
  var digest: Digest
  var note: UInt64
  var isPinned: Bool

  init(body: [UInt8], note: ByteString, isPinned: Bool = false) {
    digest = Digest(hashing: body)
    self.note = Digest(hashing: note.bytes).low
    self.isPinned = isPinned
  }

  init(_ info: EntryInfo) {
    digest = info.digest
    note = Digest(hashing: Self.note(of: info.metadata).bytes).low
    isPinned = info.isPinned
  }

  /// The note that a workload puts into the user info.
  static func metadata(_ note: ByteString) -> EntryMetadata {
    EntryMetadata(status: 200, userInfo: [Field("note", note)])
  }

  static func note(of metadata: EntryMetadata) -> ByteString {
    metadata.userInfo.first?.value ?? ByteString("")
  }

  var description: String { "\(digest)-\(String(note, radix: 16))-\(isPinned ? "pin" : "free")" }

  /// Whether a word tells of an entry that no limit may evict.
  static func isPinned(_ word: String) -> Bool { word.hasSuffix("-pin") }
}
