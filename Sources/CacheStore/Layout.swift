internal import CacheFormat
internal import CacheSystem

/// Every name on disk (Docs/Format.md, "The tree").
enum Layout {
  static let description = PathName("store.json")
  static let newDescription = PathName("store.json.new")
  static let backupTag = PathName("CACHEDIR.TAG")
  static let lock = PathName("lock")
  static let journal = PathName("journal")
  static let entries = PathName("entries")
  static let staging = PathName("staging")
  static let quarantine = PathName("quarantine")

  /// What may stand at the top of a store.
  static let topNames: Set<String> = [
    "store.json", "store.json.new", "CACHEDIR.TAG", "lock", "journal", "entries", "staging",
    "quarantine",
  ]

  /// What CACHEDIR.TAG says: the first line is given by the Cache Directory Tagging Specification.
  static let backupTagText = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This directory is a cache made by OfflineCache; backups may leave it out.
    # See https://bford.info/cachedir/

    """

  static let shardCount = 256

  /// `00000001.log`
  static func segment(_ number: UInt32) -> PathName {
    var name = PathName()
    name.appendHex(UInt64(number), digits: 8)
    name.append(".log")
    return name
  }

  /// The number of a segment, or nil where the name is none of a segment.
  static func segmentNumber(_ name: PathName) -> UInt32? {
    let bytes = name.bytes
    guard bytes.count == 12, bytes[8...].elementsEqual(".log".utf8),
      let number = UInt32(String(decoding: bytes[..<8], as: UTF8.self), radix: 16), number > 0,
      segment(number).bytes == bytes
    else { return nil }
    return number
  }

  /// `3f`
  static func shard(_ number: Int) -> PathName {
    var name = PathName()
    name.appendHex(UInt64(number), digits: 2)
    return name
  }

  static func shardNumber(of hash: KeyHash) -> Int { Int(hash.high >> 56) }

  /// `a07c…`, 30 digits
  static func key(_ hash: KeyHash) -> PathName {
    var name = PathName()
    name.appendHex(hash.high, digits: 14)
    name.appendHex(hash.low, digits: 16)
    return name
  }

  /// `3f/a07c…`
  static func keyPath(_ hash: KeyHash) -> PathName {
    var path = shard(shardNumber(of: hash))
    path.append(UInt8(ascii: "/"))
    path.append(key(hash))
    return path
  }

  /// `<digest>.body`
  static func body(_ digest: Digest) -> PathName {
    var name = PathName()
    append(digest, to: &name)
    return name
  }

  /// `3f/a07c…/<digest>.body`
  @inline(__always)
  static func bodyPath(_ hash: KeyHash, _ digest: Digest) -> PathName {
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
  static func metadata(_ variant: UInt64) -> PathName {
    var name = PathName()
    name.appendHex(variant, digits: 16)
    name.append(".json")
    return name
  }

  /// `3f/a07c…/<variant>.json`
  static func metadataPath(_ hash: KeyHash, _ variant: UInt64) -> PathName {
    var path = keyPath(hash)
    path.append(UInt8(ascii: "/"))
    path.append(metadata(variant))
    return path
  }

  /// What a name below a key's directory stands for.
  enum KeyFile: Hashable {
    case metadata(UInt64)
    case body(Digest)
    case foreign
  }

  static func keyFile(_ name: PathName) -> KeyFile {
    let bytes = name.bytes
    if bytes.count == 37, bytes[32...].elementsEqual(".body".utf8),
      let digest = Digest(digits: bytes[..<32])
    {
      return .body(digest)
    }
    if bytes.count == 21, bytes[16...].elementsEqual(".json".utf8),
      let variant = UInt64(String(decoding: bytes[..<16], as: UTF8.self), radix: 16),
      metadata(variant).bytes == bytes
    {
      return .metadata(variant)
    }
    return .foreign
  }
}
