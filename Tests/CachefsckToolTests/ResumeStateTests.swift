import Testing

@testable import StoreChecking
@testable import cachefsck

@Suite struct ResumeStateTests {
  private static let state = ResumeState(
    storeID: String(repeating: "0123456789abcdef", count: 2), depth: .deep,
    saved: 1_790_000_000_123_456_789,
    progress: CheckProgress(
      entries: 12, totalEntries: 99, bytes: 3456, totalBytes: 9999, shards: [0, 7, 0x3F, 255]),
    tally: [
      .bodyWrong: .init(found: 3), .foreignFile: .init(found: 2),
    ])

  @Test func `a state is what it was when it is read again`() {
    #expect(ResumeState(decoding: Self.state.encoded) == Self.state)
    var other = Self.state
    (other.depth, other.shards, other.tally) = (.quick, [], [:])
    #expect(ResumeState(decoding: other.encoded) == other)
    other.shards = Set(0...255)
    for kind in FindingKind.allCases { other.tally[kind] = .init(found: 1 << 40) }
    #expect(ResumeState(decoding: other.encoded) == other)
    #expect(other.encoded.count < ResumeState.maximumBytes)
  }

  @Test func `a state that was cut off is none`() {
    let bytes = Self.state.encoded
    for count in 0..<bytes.count {
      #expect(ResumeState(decoding: Array(bytes.prefix(count))) == nil, "\(count) bytes")
    }
    #expect(ResumeState(decoding: bytes + [10]) == nil)
  }

  @Test(
    arguments: [
      ("state 2", "state 1"), ("depth deep", "depth full"),
      ("saved 1", "saved x1"), ("entries 12", "entries -12"),
      ("bytes 3456", "bytes 9876543210123456789"), ("shards 00", "shards 0"),
      ("shards 00", "shards zz"),
      ("body-wrong", "no-such-kind"), ("found body-wrong 3", "found body-wrong -3"),
      ("found body-wrong 3", "found body-wrong 3 1"), ("found body-wrong 3", "found body-wrong"),
      ("found body-wrong 3", "found body-wrong 99999999999999999"), ("end", "\u{7F}"),
    ])
  func `a state with a wrong line is none`(right: String, wrong: String) throws {
    let text = String(decoding: Self.state.encoded, as: UTF8.self)
    let range = try #require(text.firstRange(of: right))
    let changed = text.replacingCharacters(in: range, with: wrong)
    #expect(ResumeState(decoding: Array(changed.utf8)) == nil)
  }
}

extension String {
  /// Returns the text with a part replaced.
  fileprivate func replacingCharacters(in range: Range<Index>, with other: String) -> String {
    String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
  }
}
