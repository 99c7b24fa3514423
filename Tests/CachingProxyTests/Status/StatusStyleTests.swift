import Testing

@testable import CachingProxy

@Suite struct StatusStyleTests {
  /// The luminances of WCAG 2.2 of each colour, of the light sheet or the dark one.
  private static func luminances(isDark: Bool) throws -> [String: Double] {
    let blocks = StatusStyle.sheet.text.split(separator: ":root {")
    let block = try #require(blocks.count == 3 ? blocks[isDark ? 2 : 1] : nil)
    var found: [String: Double] = [:]
    for line in block.prefix(while: { $0 != "}" }).split(separator: ";") {
      let parts = line.split(separator: ":").map { $0.drop { $0.isWhitespace || $0 == "\n" } }
      guard parts.count == 2, let value = UInt32(parts[1].dropFirst(), radix: 16) else { continue }
      let isShort = parts[1].count == 4
      let channels = (0..<3).map { index -> Double in
        let shift = (2 - index) * (isShort ? 4 : 8)
        let channel = isShort ? (value >> shift & 15) * 17 : value >> shift & 255
        // The exact curve needs pow(); this polynomial is within 0.002 of it.
        let c = Double(channel) / 255
        return c * (c * (c * 0.305306011 + 0.682171111) + 0.012522878)
      }
      found[String(parts[0])] = 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
    }
    return found
  }

  private static func contrast(_ a: Double, _ b: Double) -> Double {
    (max(a, b) + 0.05) / (min(a, b) + 0.05)
  }

  @Test(arguments: [false, true])
  func `Text can be read on what is behind it`(isDark: Bool) throws {
    let colours = try Self.luminances(isDark: isDark)
    for text in ["--ink", "--soft", "--hit", "--error"] {
      for back in ["--back", "--card"] {
        let ratio = Self.contrast(try #require(colours[text]), try #require(colours[back]))
        #expect(ratio >= 4.5, "\(text) on \(back)")
      }
    }
  }

  @Test(arguments: [false, true])
  func `Shapes can be told from what is behind them`(isDark: Bool) throws {
    let colours = try Self.luminances(isDark: isDark)
    let card = try #require(colours["--card"])
    for outcome in AnswerOutcome.allCases {
      let shape = try #require(colours["--\(outcome)"])
      #expect(Self.contrast(shape, card) >= 3, "\(outcome)")
    }
  }

  @Test func `Every outcome has its colour in the sheet`() {
    for outcome in AnswerOutcome.allCases {
      #expect(StatusStyle.sheet.text.contains(".\(outcome) { --tone: var(--\(outcome)); }"))
    }
  }
}
