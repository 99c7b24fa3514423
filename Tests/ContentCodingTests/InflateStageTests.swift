import TestSupport
import Testing

@testable import ContentCoding

struct InflateStageTests {
  /// Feeds pieces to a stage; returns the output, or nil if it is damaged.
  private func output(_ pieces: [[UInt8]], _ coding: Coding) -> (bytes: [UInt8], isAtEnd: Bool)? {
    var stage = InflateStage(coding)
    var bytes: [UInt8] = []
    do throws(ContentCodingError) {
      for piece in pieces {
        stage.append(piece)
        while let more = try stage.next(atMost: 1_000) {
          #expect(!more.isEmpty && more.count <= 1_000)
          bytes += more
        }
      }
      return (bytes, stage.isAtEnd)
    } catch { return nil }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `members come out whole, in whatever pieces they come in`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<40 {
      let parts = (0..<random.below(5)).map { _ in
        [UInt8](repeating: UInt8(random.below(256)), count: random.below(5_000))
      }
      let coded = parts.flatMap { deflated($0, .gzip) }
      var pieces: [[UInt8]] = []
      var start = 0
      while start < coded.count {
        let end = min(coded.count, start + random.below(60))
        pieces.append(Array(coded[start..<end]))
        start = end
      }
      let found = try #require(output(pieces, .gzip), "round \(round)")
      #expect(found.bytes == parts.flatMap { $0 } && found.isAtEnd, "round \(round)")
    }
  }

  @Test func `the data may end before the first byte, and behind a member`() {
    var stage = InflateStage(.gzip)
    #expect(stage.isAtEnd)
    stage.append([])
    #expect(stage.isAtEnd)
    stage.append([0x1F])
    #expect(!stage.isAtEnd)
    #expect(output([deflated([1, 2, 3], .gzip), [0x1F]], .gzip)?.isAtEnd == true)
    #expect(output([deflated([1, 2, 3], .gzip), [0x1F, 0x8B]], .gzip)?.isAtEnd == false)
  }

  @Test func `members without content are damage when there are too many in a row`() {
    let empty = deflated([], .gzip)
    let content = deflated([7], .gzip)
    let most = [[UInt8]](repeating: empty, count: 1_024)
    #expect(output(most + [content] + most, .gzip)?.bytes == [7])
    #expect(output(most + [empty], .gzip) == nil)
    #expect(output([most.flatMap { $0 } + empty], .gzip) == nil)
  }

  @Test(arguments: [UInt64(1), 2])
  func `bytes that were changed come out, or are damage`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let text = [UInt8](repeating: 65, count: 300) + random.bytes(300)
    for (coding, frame) in [(Coding.gzip, Frame.gzip), (.deflate, .zlib), (.deflate, .raw)] {
      let coded = deflated(text, frame)
      for _ in 0..<400 {
        var changed = coded
        changed[random.below(coded.count)] ^= 1 << UInt8(random.below(8))
        // The checksum of a frame finds what came out wrong; the header may have changed unnoticed.
        if let found = output([changed], coding), found.isAtEnd, frame != .raw, coding == .gzip {
          #expect(found.bytes == text || found.bytes.isEmpty)
        }
      }
    }
  }
}
