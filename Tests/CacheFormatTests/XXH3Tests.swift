import CacheFormat
import TestSupport
import Testing

private let prime: UInt64 = 0x9e37_79b1_85eb_ca8d

/// What the reference implementation gives for `sampleBytes(length)`: computed with the package
/// xxhash 3.x of PyPI (libxxhash 0.8.4), lengths on both sides of every border inside XXH3.
struct Answer: CustomTestStringConvertible {
  let length: Int
  let seed: UInt64
  let hash64: UInt64
  let hash128: String

  init(_ length: Int, _ seed: UInt64, _ hash64: UInt64, _ hash128: String) {
    self.length = length
    self.seed = seed
    self.hash64 = hash64
    self.hash128 = hash128
  }

  var testDescription: String { "\(length) bytes, seed \(Hexadecimal.string(seed))" }
}

private let answers = [
  Answer(0, 0, 0x2d06_8005_38d3_94c2, "99aa06d3014798d86001c324468d497f"),
  Answer(1, 0, 0x4c5c_ca45_d0f4_811f, "495b62073ef70ca44c5cca45d0f4811f"),
  Answer(3, 0, 0x15f7_093b_173d_005c, "46f66cb93538156515f7093b173d005c"),
  Answer(4, 0, 0xdca0_12f9_5811_b6b9, "7fefeeffb4d0eab3b987ca5d9241572a"),
  Answer(8, 0, 0xdec6_a9a4_3575_982e, "803c675a846cc6c256bb836ceb6d4baa"),
  Answer(9, 0, 0xcbe3_9339_9f17_ffbd, "d46556872d230f224376673580310154"),
  Answer(16, 0, 0x7e48_4c18_d748_95d0, "650fe308c566747df853dd94614dfa07"),
  Answer(17, 0, 0x208b_de5e_e2be_d407, "18217300b5132d5a78c349fe81b2f26c"),
  Answer(128, 0, 0xf92b_70ea_a21a_6288, "b4f87b99d2db8a511e04fad9f0cacb4d"),
  Answer(129, 0, 0xf8f7_6713_f2bb_60fa, "6881633650cd8924c51bc887976aef63"),
  Answer(240, 0, 0xccc7_3751_72c4_1f03, "de57aab31e77a2ff93e173833f75ab66"),
  Answer(241, 0, 0x0b3b_6309_48ce_4a00, "92b991a7192f3f080b3b630948ce4a00"),
  Answer(256, 0, 0xec85_b75b_afe6_ca74, "24ee30633ca52c6aec85b75bafe6ca74"),
  Answer(257, 0, 0x12ef_0ff6_3384_1459, "0f849a4f3e33b6c212ef0ff633841459"),
  Answer(1024, 0, 0x23bc_880e_bf0d_29c6, "4c17271c906df79223bc880ebf0d29c6"),
  Answer(1025, 0, 0xc09f_dfbc_398c_7d82, "70a4eb1b9691d77fc09fdfbc398c7d82"),
  Answer(4096, 0, 0xa3c1_9f81_74cd_e0bb, "49d3842b33d51e8aa3c19f8174cde0bb"),
  Answer(100000, 0, 0xccf9_0df7_e7e3_7036, "8ce7a24d31cd94b1ccf90df7e7e37036"),
  Answer(0, prime, 0xa8a6_b918_b2f0_364a, "00feaa732a3ce25ea986dfc5d7605bfe"),
  Answer(1, prime, 0xfb9f_fac0_3280_29fc, "9fa6e8d542998318fb9ffac0328029fc"),
  Answer(3, prime, 0x254f_e445_d5ec_b3c4, "1633503c3e90f5d8254fe445d5ecb3c4"),
  Answer(4, prime, 0xd400_a3cc_052f_de5d, "56cb063effbb205a86e592858ebb73ce"),
  Answer(8, prime, 0xeebf_af92_e6ea_205e, "262643173429804c90a8b4049ae13941"),
  Answer(9, prime, 0x0cbf_f3a4_193e_f6ea, "0d778c7afe96e22b32a377590e6eb3d3"),
  Answer(16, prime, 0x26c2_d15b_7487_bbca, "4038ac93e1fbefb97d4c6808183281e4"),
  Answer(17, prime, 0xe23b_cf55_79fb_a1ad, "f2a8e20a8a439f4e20e2c38ca80ab467"),
  Answer(128, prime, 0xb1c9_0c5f_d305_7802, "b93177b1add76d49fb764597092f4de3"),
  Answer(129, prime, 0x990e_67f9_fdc9_0324, "77411d75aa9fe7925bb32961f5c73d2b"),
  Answer(240, prime, 0x2444_e7e4_8efc_6ac6, "6ec718b6397e48b4b9446eac5e73fe21"),
  Answer(241, prime, 0xf077_87ac_704f_3881, "cd7b0050cb17ea6cf07787ac704f3881"),
  Answer(256, prime, 0x2ce9_fb91_2ea8_e197, "d73bf3bf22e2a7322ce9fb912ea8e197"),
  Answer(257, prime, 0x382d_ff5e_f8e5_5cef, "9d63c337dce6e332382dff5ef8e55cef"),
  Answer(1024, prime, 0x24c0_c97d_8287_aa1c, "fa5972c3beafce6024c0c97d8287aa1c"),
  Answer(1025, prime, 0x2140_326e_b68d_6f18, "44e0308dcd6293552140326eb68d6f18"),
  Answer(4096, prime, 0xb9c3_dac3_e2d1_94e9, "589f5934c49bbe9bb9c3dac3e2d194e9"),
  Answer(100000, prime, 0x6e5f_8082_ba98_06d4, "281ec9c23a6ed84e6e5f8082ba9806d4"),
]

/// Bytes that do not repeat soon.
func sampleBytes(_ length: Int) -> [UInt8] {
  (0..<length).map { UInt8(truncatingIfNeeded: $0 * 31 + 7) }
}

@Suite struct XXH3Tests {
  @Test(arguments: answers)
  func `a checksum is the 64-bit XXH3 of the reference`(answer: Answer) {
    #expect(Checksum.of(sampleBytes(answer.length), seed: answer.seed) == answer.hash64)
  }

  @Test(arguments: answers)
  func `a key's hash is the 128-bit XXH3 of the reference`(answer: Answer) {
    let key = ByteString(bytes: sampleBytes(answer.length))
    #expect(KeyHash(hashing: key, seed: answer.seed).description == answer.hash128)
  }

  @Test(arguments: answers.filter { $0.seed == 0 })
  func `a digest is the 128-bit XXH3 of the reference without seed`(answer: Answer) {
    #expect(Digest(hashing: sampleBytes(answer.length)).description == answer.hash128)
  }

  @Test(arguments: answers.filter { $0.seed == 0 }, [1, 7, 64, 255, 256, 257, 65_536])
  func `a digest in pieces is the digest of the whole`(answer: Answer, pieceLength: Int) {
    let bytes = sampleBytes(answer.length)
    var hasher = DigestHasher()
    for start in stride(from: 0, to: bytes.count, by: pieceLength) {
      hasher.update(Array(bytes[start..<min(start + pieceLength, bytes.count)]))
    }
    #expect(hasher.count == UInt64(answer.length))
    #expect(hasher.digest().description == answer.hash128)
  }
}

/// Each length up to 4,096 and some longer ones, with four seeds, all in one number: computed with
/// the header of libxxhash 0.8.1.
@Suite struct XXH3LengthsTests {
  private static let ofReference: UInt64 = 0x90ff_762f_3b37_707a
  private static let lengths =
    Array(0...4096) + Array(sequence(first: 4097) { $0 * 3 / 2 + 1 }.prefix { $0 < 300_000 })
  private static let bytes = (0..<300_000).map {
    UInt8(truncatingIfNeeded: $0 * 31 + 7) ^ UInt8(truncatingIfNeeded: ($0 >> 8) * 5)
  }

  @Test func `all lengths have the hashes of the reference`() {
    var sum: UInt64 = 0
    func add(_ value: UInt64) { sum = sum &* 0x9e37_79b9_7f4a_7c15 &+ value }
    for seed in [0, 1, prime, .max] {
      for length in Self.lengths {
        let bytes = Array(Self.bytes[..<length])
        let hash = KeyHash(hashing: ByteString(bytes: bytes), seed: seed)
        add(Checksum.of(bytes, seed: seed))
        add(hash.high)
        add(hash.low)
      }
    }
    #expect(sum == Self.ofReference)
  }

  @Test func `any pieces have the hash of the whole`() {
    var random = SplitMix64(seed: 3)
    for seed in [0, prime] {
      var hasher = DigestHasher(seed: seed)
      for length in Self.lengths where length % 7 == 0 || length > 4096 || length < 600 {
        let bytes = Array(Self.bytes[..<length])
        let whole = KeyHash(hashing: ByteString(bytes: bytes), seed: seed)
        let longest = Int.random(in: 1...max(1, length), using: &random)
        hasher.reset()
        var start = 0
        while start < length {
          let end = min(length, start + Int.random(in: 0...longest, using: &random))
          hasher.update(Array(bytes[start..<end]))
          start = end
        }
        #expect(hasher.digest() == Digest(high: whole.high, low: whole.low), "\(length) bytes")
      }
    }
  }
}
