import CacheFormat

/// Bytes of the journal that were computed apart from this package, with `struct` and `xxhash` of
/// Python. All stand in segment 3 of a store with this hash seed, at these offsets.
enum RecordGolden {
  static let hashSeed: UInt64 = 0x0123_4567_89ab_cdef
  static let segment: UInt64 = 3
  static let storeID = StoreDescription.ID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
  static let time: Int64 = 1_795_204_908_123_456_789
  static let keyHash = KeyHash(high: 0x8dd4_140c_e06b_ed60, low: 0x945f_1de2_46c2_b65d)
  static let digest = Digest(high: 0x6bba_86c7_e069_f56d, low: 0x5a10_b435_f1c8_e49c)

  /// The header of segment 3.
  static let header = bytes(
    """
    4f434a4f55524e4c01000000400000007766554433221100ffeeddccbbaa9988
    efcdab896745230103000000000000001585bc3f5ad9e91810c9ddfb16f51743
    """)

  /// Stored: 6 bytes under https://example.org/a, at byte 64.
  static let put = bytes(
    """
    a429954f770ee3fd4f434a31b8000000e8030000000000000106000000000000
    60ed6be00c14d48d5db6c246e21d5f946df569e0c786ba6b9ce4c8f135b4105a
    000000000000000006000000000000001585bc3f5ad9e9181685bc3f5ad9e918
    0000000000000080070000000000000000200000c80000001500000001000000
    010000001500000068747470733a2f2f6578616d706c652e6f72672f61040000
    000400000065746167223566220100000078000000000000
    """)

  /// Two accesses, at byte 248.
  static let touch = bytes(
    """
    18b7967f2e00eefa4f434a3160000000e9030000000000000300000000000000
    60ed6be00c14d48d5db6c246e21d5f9400000000000000001785bc3f5ad9e918
    010000000000000002000000000000000300000000000000fcffffffffffffff
    """)

  /// 1 GiB in all, 1 MiB for one entry, counted by body lengths, at byte 344.
  static let limits = bytes(
    """
    1a28444d04fd59f54f434a3150000000ea030000000000000500000000000000
    0000004000000000ffffffffffffffff00001000000000000000000000000000
    ffffffffffffffff0100000000000000
    """)

  /// Removed by the byte limit, at byte 424.
  static let remove = bytes(
    """
    731e2ec93ba7ff174f434a3140000000eb030000000000000200000000000000
    60ed6be00c14d48d5db6c246e21d5f9400000000000000000100000000000000
    """)

  /// All removed, at byte 488.
  static let clear = bytes(
    """
    11907bb509160c1c4f434a3120000000ec030000000000000400000000000000
    """)

  /// Segments up to 2 dropped, at byte 520.
  static let drop = bytes(
    """
    8d3f3f12591f64a64f434a3128000000ed030000000000000700000000000000
    0200000000000000
    """)

  /// The journal goes on in segment 4, at byte 560.
  static let seal = bytes(
    """
    bf04d551707b88e44f434a3128000000ee030000000000000600000000000000
    0400000000000000
    """)

  /// Stored: the greatest and least numbers, a key and texts that are no UTF-8, at byte 600.
  static let putBinary = bytes(
    """
    59fb5b7a29a9be944f434a31b8000000ffffffffffffffff0106000000000000
    ffffffffffffffffffffffffffffffff00000000000000800000000000000000
    ffffffffffffffffffffffffffffffff0100000000000080ffffffffffffff7f
    0500000000000000ffffffffffffffffffffffffffff01000300000002000100
    0200000027000000ff006b000000000000000001000000020000006100ff0100
    0000010000006e76000000000200000074c3000000000000
    """)

  /// Turns hex digits into bytes; line feeds are passed over.
  static func bytes(_ text: String) -> [UInt8] {
    let digits = text.utf8.filter { $0 != 10 }
    return stride(from: 0, to: digits.count, by: 2).map { place in
      guard let byte = Hexadecimal.parse(digits[place..<place + 2]) else {
        preconditionFailure("the golden bytes are hex digits")
      }
      return UInt8(byte)
    }
  }
}

extension RecordFrame {
  /// Reads a record of the golden store.
  static func read(
    _ bytes: [UInt8], at offset: Int = 0, place: UInt64, segment: UInt64 = RecordGolden.segment,
    hashSeed: UInt64 = RecordGolden.hashSeed
  ) -> Reading {
    // Safety: the array outlives the call.
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe read(
        buffer, at: offset, seed: seed(hashSeed: hashSeed, segment: segment, offset: place))
    }
  }

  /// Gives a padded record its place in the golden store.
  static func placed(_ record: [UInt8], sequence: UInt64, at place: UInt64) -> [UInt8] {
    var record = record
    RecordFrame.place(
      &record, sequence: sequence,
      seed: seed(hashSeed: RecordGolden.hashSeed, segment: RecordGolden.segment, offset: place))
    return record
  }
}
