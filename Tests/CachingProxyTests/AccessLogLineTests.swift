import CacheFormat
import HTTPSemantics
import Testing

@testable import CachingProxy

private func record(url: String = "http://a/", reason: String = "") -> AnswerRecord {
  var status = CacheStatus(cacheName: "Test", isHit: true)
  status.detail = "x"
  return AnswerRecord(
    time: Timestamp(nanoseconds: 1_795_215_901_000_000_000), clientAddress: "127.0.0.1",
    method: "GET", url: url, status: 200, bytesSent: 12, microseconds: 1_000_042,
    cacheStatus: status, source: .memory, reason: reason, isComplete: true)
}

private func line(_ format: AccessLogFormat, _ record: AnswerRecord) -> String {
  String(decoding: AccessLogLine(record, format).bytes, as: UTF8.self)
}

@Suite("A line of the log") struct AccessLogLineTests {
  @Test func `tells all in one line`() {
    #expect(
      line(.text, record(reason: "why"))
        == "127.0.0.1 - - [20/Nov/2026:23:05:01 +0000] \"GET http://a/\" 200 12 "
        + "\"Test; hit; detail=\\x22x\\x22\" 1.000042 memory \"why\" complete\n")
  }

  @Test func `tells all in one JSON object`() {
    #expect(
      line(.json, record(reason: "why"))
        == "{\"time\":\"2026-11-20T23:05:01.000000000Z\",\"client\":\"127.0.0.1\",\"method\":\"GET\","
        + "\"url\":\"http://a/\",\"status\":200,\"bytes\":12,\"microseconds\":1000042,"
        + "\"cache_status\":\"Test; hit; detail=\\\"x\\\"\",\"source\":\"memory\",\"reason\":\"why\","
        + "\"complete\":true}\n")
  }

  @Test func `says that an answer was cut, and that a client has no address`() {
    var cut = record()
    cut.isComplete = false
    cut.clientAddress = ""
    cut.method = ""
    #expect(line(.text, cut).hasPrefix("- - - ["))
    #expect(line(.text, cut).contains("] \"- http://a/\" "))
    #expect(line(.text, cut).hasSuffix("memory \"\" cut\n"))
    #expect(line(.json, cut).hasSuffix("\"complete\":false}\n"))
  }

  @Test(arguments: [
    "\n", "\r\n", "\u{0}", "\u{1b}[2J", "\"", "\\", "\u{7f}", "\u{85}", "\u{202e}", "é",
    "\u{1F600}",
  ])
  func `cannot be broken by what comes from the network`(text: String) {
    let hostile = record(url: "http://a/" + text, reason: text)
    for format in AccessLogFormat.allCases {
      let line = line(format, hostile)
      #expect(line.utf8.allSatisfy { $0 == 0x0A || ($0 >= 0x20 && $0 < 0x7F) })
      #expect(line.utf8.count { $0 == 0x0A } == 1)
      #expect(line.hasSuffix("\n"))
    }
    // As many quotes as in a harmless line: none was added.
    let quotes = line(.text, hostile).utf8.count { $0 == UInt8(ascii: "\"") }
    #expect(quotes == 6)
  }

  @Test func `escapes as JSON does`() {
    #expect(
      line(.json, record(url: "a\"\\\n\u{1F600}")).contains("\"a\\\"\\\\\\n\\ud83d\\ude00\""))
  }
}
