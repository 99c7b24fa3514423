package import CacheFormat
package import CacheSystem

/// The names of all files and directories of a store (Docs/Format.md, "The tree").
package enum Layout {
  package static let description = PathName("store.json")
  package static let newDescription = PathName("store.json.new")
  package static let backupTag = PathName("CACHEDIR.TAG")
  package static let lock = PathName("lock")
  package static let journal = PathName("journal")
  package static let entries = PathName("entries")
  package static let staging = PathName("staging")
  package static let quarantine = PathName("quarantine")

  /// The note in a directory of the quarantine: where its files come from, and why.
  package static let note = PathName("note.txt")
  /// The name of a new segment until it is complete.
  package static let newSegment = PathName("new")
  /// An empty file in `journal`, as long as files are to be written anew after a failed syncfs(2).
  package static let unwritten = PathName("unwritten")
  /// A file in `journal` that names the run of the machine in which a body could not be synced.
  package static let unsynced = PathName("unsynced")
  /// An empty file in `journal` once a program has used the store with full durability.
  package static let durable = PathName("durable")
  /// The names in `journal` besides the segments.
  package static let journalNames: Set<String> = ["new", "unwritten", "unsynced", "durable"]

  /// The names in the directory of a store.
  package static let topNames: Set<String> = [
    "store.json", "store.json.new", "CACHEDIR.TAG", "lock", "journal", "entries", "staging",
    "quarantine",
  ]

  /// The content of CACHEDIR.TAG. The Cache Directory Tagging Specification defines its first line.
  package static let backupTagText = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This directory is a cache made by OfflineCache; backups may leave it out.
    # See https://bford.info/cachedir/

    """

  package static let shardCount = 256

  /// `00000001.log`
  package static func segment(_ number: UInt32) -> PathName {
    var name = PathName()
    name.appendHex(UInt64(number), digits: 8)
    name.append(".log")
    return name
  }

  /// The greatest number of a segment. No store reaches it, and numbers above it never overflow.
  static let lastSegment: UInt32 = 0xEFFF_FFFF

  /// Returns the number of the segment with a name; `nil` for any other name.
  package static func segmentNumber(_ name: PathName) -> UInt32? {
    let bytes = name.bytes
    guard bytes.count == 12, bytes[8...].elementsEqual(".log".utf8),
      let number = UInt32(String(decoding: bytes[..<8], as: UTF8.self), radix: 16),
      (1...lastSegment).contains(number), segment(number).bytes == bytes
    else { return nil }
    return number
  }

  /// Returns whether a name is that of a shard: 2 hex digits.
  package static func isShard(_ name: PathName) -> Bool {
    name.count == 2 && name.hex(in: 0..<2) != nil
  }

  /// Returns whether a name is that of a session: 16 hex digits.
  package static func isSession(_ name: PathName) -> Bool {
    name.count == 16 && name.hex(in: 0..<16) != nil
  }

  /// The name in a session of the directory of a replaced key: `a07c…-0000…`, 30 and 16 digits.
  static func replaced(_ hash: KeyHash, _ number: UInt64) -> PathName {
    var name = key(hash)
    name.append("-")
    name.appendHex(number, digits: 16)
    return name
  }

  /// Returns whether a directory in a session is that of a replaced key.
  static func isReplaced(_ name: PathName) -> Bool {
    name.count == KeyHash.directoryNameLength + 17 && name.hex(in: 0..<14) != nil
  }

  /// A new name beside the directory of a key, for entries that were found in it and belong elsewhere:
  /// `a07c…-1b2c3d4e`, 30 and 8 digits.
  package static func misplaced(from hash: KeyHash) -> PathName {
    var name = key(hash)
    name.append("-")
    name.appendHex(.random(in: .min ... .max), digits: 8)
    return name
  }

  /// Returns whether a directory in a shard has a name that `misplaced` makes. After a kill it may be empty.
  package static func isMisplaced(_ name: PathName) -> Bool {
    let keyLength = KeyHash.directoryNameLength
    return name.count == keyLength + 9 && name.bytes[keyLength] == UInt8(ascii: "-")
      && name.hex(in: 0..<15) != nil && name.hex(in: 15..<keyLength) != nil
      && name.hex(in: keyLength + 1..<keyLength + 9) != nil
  }

  /// `3f`
  package static func shard(_ number: Int) -> PathName {
    var name = PathName()
    name.appendHex(UInt64(number), digits: 2)
    return name
  }

  package static func shardNumber(of hash: KeyHash) -> Int { Int(hash.high >> 56) }

  /// `a07c…`, 30 digits
  package static func key(_ hash: KeyHash) -> PathName {
    var name = PathName()
    name.appendHex(hash.high, digits: 14)
    name.appendHex(hash.low, digits: 16)
    return name
  }

  /// `3f/a07c…`
  package static func keyPath(_ hash: KeyHash) -> PathName {
    var path = shard(shardNumber(of: hash))
    path.append(UInt8(ascii: "/"))
    path.append(key(hash))
    return path
  }

  /// `<digest>.body`
  package static func body(_ digest: Digest) -> PathName {
    var name = PathName()
    append(digest, to: &name)
    return name
  }

  /// `3f/a07c…/<digest>.body`
  @inline(__always)
  package static func bodyPath(_ hash: KeyHash, _ digest: Digest) -> PathName {
    var path = PathName()
    path.appendHex(hash.high >> 56, digits: 2)
    path.append(UInt8(ascii: "/"))
    path.appendHex(hash.high, digits: 14)
    path.appendHex(hash.low, digits: 16)
    path.append(UInt8(ascii: "/"))
    append(digest, to: &path)
    return path
  }

  private static func append(_ digest: Digest, to name: inout PathName) {
    name.appendHex(digest.high, digits: 16)
    name.appendHex(digest.low, digits: 16)
    name.append(".body")
  }

  /// `<variant>.json`
  package static func metadata(_ variant: UInt64) -> PathName {
    var name = PathName()
    name.appendHex(variant, digits: 16)
    name.append(".json")
    return name
  }

  /// `3f/a07c…/<variant>.json`
  package static func metadataPath(_ hash: KeyHash, _ variant: UInt64) -> PathName {
    var path = keyPath(hash)
    path.append(UInt8(ascii: "/"))
    path.append(metadata(variant))
    return path
  }

  /// The kind of a file in the directory of a key, according to its name.
  package enum KeyFile: Hashable {
    case metadata(UInt64)
    case body(Digest)
    case foreign
  }

  package static func keyFile(_ name: PathName) -> KeyFile {
    if name.count == 37, name.hasSuffix(".body"), let high = name.hex(in: 0..<16),
      let low = name.hex(in: 16..<32)
    {
      return .body(Digest(high: high, low: low))
    }
    if name.count == 21, name.hasSuffix(".json"), let variant = name.hex(in: 0..<16) {
      return .metadata(variant)
    }
    return .foreign
  }

  /// Returns the hash of the key whose directory in a shard has this name; `nil` for any other
  /// name.
  package static func keyHash(_ name: PathName, inShard number: Int) -> KeyHash? {
    guard name.count == KeyHash.directoryNameLength, let high = name.hex(in: 0..<14),
      let low = name.hex(in: 14..<30)
    else { return nil }
    return KeyHash(high: UInt64(number) &<< 56 | high, low: low)
  }
}
