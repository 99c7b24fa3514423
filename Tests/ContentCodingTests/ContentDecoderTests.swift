import ContentCoding
import TestSupport
import Testing

struct ContentDecoderTests {
  private static let text = Array(String(repeating: "The quick brown fox. ", count: 50).utf8)

  /// Holds the text as python3's gzip module writes it, so that zlib is not its own only witness.
  private static let golden: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0B, 0xC9, 0x48, 0x55, 0x28, 0x2C,
    0xCD, 0x4C, 0xCE, 0x56, 0x48, 0x2A, 0xCA, 0x2F, 0xCF, 0x53, 0x48, 0xCB, 0xAF, 0xD0, 0x53, 0x08,
    0x19, 0x15, 0x1C, 0x15, 0x1C, 0x15, 0x1C, 0xD9, 0x82, 0x00, 0xEF, 0x9A, 0x81, 0x58, 0x1A, 0x04,
    0x00, 0x00,
  ]

  private static func coded(_ bytes: [UInt8], _ coding: String) -> [UInt8] {
    deflated(bytes, coding == "gzip" ? .gzip : .zlib)
  }

  @Test(
    "each coding is taken off under each of its names",
    arguments: ["gzip", "x-gzip", "GZIP", "X-Gzip"])
  func names(name: String) {
    #expect(decoded([Self.golden], [name]) == .success(Self.text))
  }

  @Test("deflate comes with the zlib frame and without", arguments: [Frame.zlib, .raw])
  func deflate(frame: Frame) {
    #expect(decoded([deflated(Self.text, frame)], ["deflate"]) == .success(Self.text))
    #expect(decoded(deflated(Self.text, frame).map { [$0] }, ["Deflate"]) == .success(Self.text))
  }

  @Test(
    "a name that is not known makes no decoder", arguments: ["br", "zstd", "gzip2", "gzip, br"])
  func unknown(name: String) {
    #expect(decoded([], [name]) == nil)
    #expect(decoded([], ["gzip", name]) == nil)
  }

  @Test("no coding makes no decoder")
  func none() { #expect(decoded([], []) == nil) }

  @Test("several codings are taken off from the last to the first")
  func several() {
    let inner = Self.coded(Self.text, "gzip")
    #expect(decoded([Self.coded(inner, "gzip")], ["gzip", "gzip"]) == .success(Self.text))
    #expect(
      decoded([Self.coded(inner, "deflate")], ["gzip", "deflate"])
        == .success(Self.text))
    #expect(
      decoded([Self.coded(inner, "deflate")], ["deflate", "gzip"])
        == .failure(.damaged(coding: "gzip")))
  }

  @Test("more codings than the limit make no decoder")
  func tooMany() {
    let most = Array(repeating: "gzip", count: ContentDecoder.maximumCodings)
    #expect(decoded([], most) == .success([]))
    #expect(decoded([], most + ["gzip"]) == nil)
  }

  @Test("gzip may have several members, and ends before what is none")
  func members() {
    let two = Self.golden + deflated([1, 2, 3], .gzip)
    #expect(decoded([two], ["gzip"]) == .success(Self.text + [1, 2, 3]))
    #expect(decoded(two.map { [$0] }, ["gzip"]) == .success(Self.text + [1, 2, 3]))
    for garbage in [[0], [0x1F], [0, 0, 0], Array("garbage".utf8)] as [[UInt8]] {
      #expect(decoded([two + garbage], ["gzip"]) == .success(Self.text + [1, 2, 3]))
      #expect(decoded((two + garbage).map { [$0] }, ["gzip"]) == .success(Self.text + [1, 2, 3]))
    }
    #expect(decoded([two + [0x1F, 0x8B, 9, 0]], ["gzip"]) == .failure(.damaged(coding: "gzip")))
    #expect(decoded([two + [0x1F, 0x8B, 8]], ["gzip"]) == .failure(.truncated(coding: "gzip")))
  }

  @Test("what follows the end of deflate is left out", arguments: [Frame.zlib, .raw])
  func afterDeflate(frame: Frame) {
    let coded = deflated(Self.text, frame)
    #expect(decoded([coded + coded, coded], ["deflate"]) == .success(Self.text))
  }

  @Test("data that is cut short anywhere is an error at the end", arguments: Frame.allCases)
  func truncated(frame: Frame) {
    let coding = frame == .gzip ? "gzip" : "deflate"
    let coded = deflated(Self.text, frame)
    for count in 1..<coded.count {
      let result = decoded([Array(coded.prefix(count))], [coding])
      #expect(result == .failure(.truncated(coding: coding)), "\(count) bytes")
    }
    #expect(decoded([], [coding]) == .success([]), "an answer without content")
    let outer = deflated(Array(coded.dropLast()), .gzip)
    #expect(decoded([outer], [coding, "gzip"]) == .failure(.truncated(coding: coding)))
  }

  @Test("a wrong checksum or length is an error", arguments: [42, 43, 45, 46, 49])
  func checksum(index: Int) {
    var damaged = Self.golden
    damaged[index] ^= 0x10
    #expect(decoded([damaged], ["gzip"]) == .failure(.damaged(coding: "gzip")))
  }

  @Test("an error stays the answer to every later call")
  func errorStays() {
    var decoder = ContentDecoder(codings: ["gzip"])!
    decoder.append(Array("no gzip".utf8))
    for _ in 0..<2 {
      do throws(ContentCodingError) {
        _ = try decoder.next()
        Issue.record("no error")
      } catch {
        #expect(error == .damaged(coding: "gzip"))
      }
      do throws(ContentCodingError) {
        try decoder.finish()
        Issue.record("no error")
      } catch {
        #expect(error == .damaged(coding: "gzip"))
      }
      decoder.append(Self.golden)
    }
  }

  @Test("a bomb comes in bounded pieces, however much it stands for")
  func bomb() throws {
    // Members in a row, as the file of gigabytes would take the time of many tests.
    let member = deflated([UInt8](repeating: 0, count: 64 << 20), .gzip, level: 9)
    var decoder = ContentDecoder(codings: ["gzip"])!
    var count = 0
    var largest = 0
    for _ in 0..<3 {
      decoder.append(member)
      while let piece = try decoder.next() {
        count += piece.count
        largest = max(largest, piece.count)
      }
    }
    try decoder.finish()
    #expect(count == 3 * (64 << 20))
    #expect(largest == ContentDecoder.maximumPieceBytes)
  }

  @Test("a bomb within a bomb comes in bounded pieces")
  func nestedBomb() throws {
    let inner = deflated([UInt8](repeating: 0, count: 64 << 20), .gzip, level: 9)
    let outer = deflated(inner, .gzip, level: 9)
    #expect(outer.count < 1_000)
    var decoder = ContentDecoder(codings: ["gzip", "gzip"])!
    decoder.append(outer)
    var count = 0
    while let piece = try decoder.next() {
      #expect(piece.count <= ContentDecoder.maximumPieceBytes)
      count += piece.count
    }
    try decoder.finish()
    #expect(count == 64 << 20)
  }

  @Test("empty members in a row are taken up to a limit, alone and within another coding")
  func emptyMembers() {
    let empty = deflated([], .gzip)
    func members(_ count: Int) -> [UInt8] { Array(repeatElement(empty, count: count).joined()) }
    for count in [2, 1_024] {
      let coded = members(count) + Self.golden + members(count) + Self.golden
      #expect(decoded([coded], ["gzip"]) == .success(Self.text + Self.text))
      #expect(
        decoded([deflated(coded, .gzip)], ["gzip", "gzip"]) == .success(Self.text + Self.text))
    }
    let coded = members(1_025) + Self.golden
    #expect(decoded([coded], ["gzip"]) == .failure(.damaged(coding: "gzip")))
    #expect(
      decoded([deflated(coded, .gzip)], ["gzip", "gzip"]) == .failure(.damaged(coding: "gzip")))
  }

  @Test("data that decodes to nothing for long within another coding is damaged")
  func nothing() {
    // A header that says that the name of the file follows, and a name without end.
    let header: [UInt8] = [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3]
    let coded = deflated(header + [UInt8](repeating: 0x61, count: 65 << 20), .gzip, level: 1)
    #expect(decoded([coded], ["gzip", "gzip"]) == .failure(.damaged(coding: "gzip")))
  }

  @Test("random content comes back through random codings and pieces", arguments: 0..<8)
  func roundTrips(run: Int) {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed of roundTrips \(run): \(seed)")
    var random = SplitMix64(seed: seed)
    for _ in 0..<10 {
      let content = random.bytes(upTo: 150_000)
      var coded = content
      var names: [String] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let frame = Frame.allCases.randomElement(using: &random)!
        let level = CInt.random(in: 0...9, using: &random)
        names.append(frame == .gzip ? "gzip" : "deflate")
        guard frame == .gzip, Bool.random(using: &random) else {
          coded = deflated(coded, frame, level: level)
          continue
        }
        let middle = coded.count / 2
        coded =
          deflated(Array(coded[..<middle]), .gzip, level: level)
          + deflated(Array(coded[middle...]), .gzip)
      }
      #expect(decoded(random.pieces(coded), names) == .success(content))
    }
  }

  @Test("damaged input is an error or other bytes, never a crash", arguments: 0..<4)
  func damaged(run: Int) {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed of damaged \(run): \(seed)")
    var random = SplitMix64(seed: seed)
    var errors = 0
    for _ in 0..<400 {
      let content = random.bytes(upTo: 3_000)
      let frame = Frame.allCases.randomElement(using: &random)!
      var coded = deflated(content, frame)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<coded.count, using: &random)
        coded[index] = .random(in: 0...255, using: &random)
      }
      let names = [["gzip"], ["deflate"], ["deflate", "gzip"]].randomElement(using: &random)!
      if case .failure = decoded(random.pieces(coded), names) { errors += 1 }
    }
    #expect(errors > 100)
  }
}
