import CacheFormat
import TestSupport
import Testing

@testable import HTTPSemantics

struct HTTPDateParserTests {
  private let now = HTTPDate(seconds: 1_800_000_000)

  private func parse(_ bytes: [UInt8]) -> Int64? {
    var parser = HTTPDateParser(bytes, now: now)
    return parser.parse()
  }

  private static let forms = [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Wednesday, 06-Nov-94 08:49:37 GMT",
  ]

  @Test(arguments: forms)
  func `a date that is cut or continued is no date`(form: String) {
    let bytes = Array(form.utf8)
    #expect(parse(bytes) == 784_111_777)
    for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == nil, "\(count) bytes") }
    for byte in UInt8.min ... .max { #expect(parse(bytes + [byte]) == nil, "and \(byte)") }
  }

  @Test(arguments: forms)
  func `a byte that is changed makes no date, or another time of the same form`(form: String) {
    let bytes = Array(form.utf8)
    for index in bytes.indices {
      for byte in UInt8.min ... .max where byte != bytes[index] {
        var changed = bytes
        changed[index] = byte
        guard let seconds = parse(changed) else { continue }
        // Letters may have the other case, and digits another value; nothing else may be there.
        let text = String(decoding: changed, as: UTF8.self)
        let isDigit = ASCII.isDigit(byte) && (ASCII.isDigit(bytes[index]) || bytes[index] == 0x20)
        #expect(isDigit || ASCII.isLetter(byte) && ASCII.isLetter(bytes[index]), "\(text)")
        #expect(isDigit || (seconds == 784_111_777) == !text.lowercased().contains("jan"))
      }
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `what is written in the three forms is read as one time`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    for _ in 0..<3_000 {
      // Years of which the last two digits are enough: 1978 to 2077.
      let seconds = Int64.random(in: 252_460_800..<3_376_684_800, using: &random)
      let time = CivilTime(seconds: seconds)
      func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      let clock = "\(two(time.hour)):\(two(time.minute)):\(two(time.second))"
      let month = HTTPDateNames.months[time.month - 1]
      let day = days[time.weekday]
      let short = two(Int(time.year % 100))
      let padded = time.day < 10 ? " \(time.day)" : "\(time.day)"
      for text in [
        "\(day.prefix(3)), \(two(time.day)) \(month) \(time.year) \(clock) GMT",
        "\(day), \(two(time.day))-\(month)-\(short) \(clock) GMT",
        "\(day.prefix(3)) \(month) \(padded) \(clock) \(time.year)",
      ] {
        #expect(parse(Array(text.utf8)) == seconds, "\(text)")
      }
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `random text is read or refused`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let letters = Array("SunModay,06 Nov-194:837GMT\u{FF}\0".utf8)
    for _ in 0..<50_000 {
      guard let seconds = parse(random.text(of: letters, upTo: 34)) else { continue }
      #expect((CivilTime.earliest...CivilTime.latest).contains(seconds))
    }
  }
}
