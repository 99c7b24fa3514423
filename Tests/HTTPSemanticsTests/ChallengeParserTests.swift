import TestSupport
import Testing

@testable import HTTPSemantics

struct ChallengeParserTests {
  private func read(_ bytes: [UInt8]) -> [Challenge] {
    var parser = ChallengeParser(bytes)
    return parser.challenges()
  }

  /// Writes a challenge in one of the ways that mean the same.
  private func line(_ challenge: Challenge, _ random: inout SplitMix64) -> String {
    func space() -> String { String(repeating: " ", count: random.below(3)) }
    if let token = challenge.token { return "\(challenge.scheme) \(token)" }
    let parameters = challenge.parameters.map { parameter in
      let isToken = HTTPField.isToken(parameter.value) && random.below(2) == 0
      let value = isToken ? parameter.value : QuotedString.quote(parameter.value)
      return "\(parameter.name)\(space())=\(space())\(value)"
    }
    return challenge.scheme + " " + parameters.joined(separator: "\(space()),\(space())")
  }

  private func challenge(_ random: inout SplitMix64) -> Challenge {
    let scheme = ["Basic", "Digest", "X!y", "negotiate"][random.below(4)]
    if random.below(3) == 0 {
      return Challenge(scheme: scheme, token: ["YWJj", "a/b+c==", "-._~"][random.below(3)])
    }
    let values = Array("ab \"\\,=\t;é/".utf8)
    return Challenge(
      scheme: scheme,
      parameters: (0...random.below(4)).map { number in
        let value = String(decoding: random.text(of: values, upTo: 8), as: UTF8.self)
        return Challenge.Parameter("p\(number)", value.contains("\u{FFFD}") ? "" : value)
      })
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `challenges that are written in one line are read as they were`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for round in 0..<2_000 {
      let challenges = (0...random.below(3)).map { _ in challenge(&random) }
      let text = challenges.map { line($0, &random) }.joined(separator: ", ")
      #expect(read(Array(text.utf8)) == challenges, "round \(round): \(text)")
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `any line is read, and what was read is read again in its normal form`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let letters = Array("Ab=,\"\\ \t@/\u{FF}".utf8)
    for round in 0..<20_000 {
      let bytes = random.text(of: letters, upTo: 24)
      for challenge in read(bytes) where challenge.token == nil && !challenge.parameters.isEmpty {
        #expect(HTTPField.isToken(challenge.scheme), "round \(round)")
        #expect(challenge.parameters.allSatisfy { $0.name == $0.name.lowercased() })
        guard !challenge.parameters.contains(where: { $0.value.contains("\u{FFFD}") }) else {
          continue
        }
        let again = Array(line(challenge, &random).utf8)
        #expect(
          read(again) == [challenge], "round \(round): \(String(decoding: again, as: UTF8.self))")
      }
    }
  }

  @Test func `challenges behind the limit are left out, and their lines are read to the end`() {
    let line = (0..<100).map { "S\($0) a=b" }.joined(separator: ", ")
    let found = read(Array(line.utf8))
    #expect(found.count == Challenge.maximumCount)
    #expect(found.last?.scheme == "S63")
    let many = "S " + (0..<100).map { "p\($0)=1" }.joined(separator: ",") + ", T a=b"
    let two = read(Array(many.utf8))
    #expect(two.map(\.scheme) == ["S", "T"])
    #expect(two[0].parameters.count == Challenge.maximumCount)
  }
}
