import TestSupport
import Testing

@testable import HTTPSemantics

struct PreferencesTests {
  private func normal(_ text: String) -> String? {
    Preferences.normalized(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    (" EN ; Q=0.50, de", "de,en;q=0.5"), ("", ""), (" , ,", ""), ("de;q=1.000", "de"),
    ("de;q=0.000", "de;q=0"), ("de;q=0.", "de;q=0"), ("de;q=1.", "de"), ("b,A,c", "a,b,c"),
    ("text/HTML;Level=1A;q=0.7", "text/html;level=1A;q=0.7"), ("*;q=0.1", "*;q=0.1"),
    ("a,a", "a,a"), ("de;q=0.123", "de;q=0.123"),
  ])
  func `order, case and zeros have no meaning`(value: String, expected: String) {
    #expect(normal(value) == expected)
  }

  @Test(arguments: [
    "de;q=2", "de;q=1.1", "de;q=1.001", "de;q=0.1234", "de;q=.5", "de;q=", "de;q=-0", "de;q=a",
    "de;q=0,5;x", "de;q", "de;", "de;x", "\"de\"", "de;x=\"a,b\"", "de;q=00", "de;q=01",
  ])
  func `what is no list of preferences stays as it is`(value: String) {
    #expect(normal(value) == nil)
  }

  @Test(arguments: [UInt64(1), 2])
  func `lists with the same members are the same, and normal twice is normal once`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let weights = ["", ";q=1", ";q=1.0", ";q=0.5", "; Q=0.50", ";q=0", ";q=0.000"]
    for _ in 0..<3_000 {
      var members = (0...random.below(6)).map { _ in
        ["de", "EN", "en-GB", "*", "fr"][random.below(5)] + weights[random.below(weights.count)]
      }
      let first = normal(members.joined(separator: ","))
      members.shuffle(using: &random)
      #expect(normal(members.joined(separator: " ,\t")) == first, "\(members)")
      #expect(first != nil && first.flatMap(normal) == first)
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `any bytes are read or refused, and what is normal stays so`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20_000 {
      let value = random.text(of: Array("aQ=01.5;, \t\u{FF}".utf8), upTo: 16)
      guard let once = Preferences.normalized(value) else { continue }
      #expect(Preferences.normalized(once) == once, "\(String(decoding: value, as: UTF8.self))")
    }
  }

  @Test func `a list that is too long is not sorted`() {
    func list(_ count: Int) -> String { (0..<count).map { "a\($0)" }.joined(separator: ",") }
    #expect(normal(list(Preferences.maximumMembers)) != nil)
    #expect(normal(list(Preferences.maximumMembers + 1)) == nil)
    #expect(normal(list(Preferences.maximumMembers) + ",,,") != nil)
  }
}
