import CacheFormat
import HTTPSemantics

package enum AccessLogFormat: String, Sendable, Hashable, CaseIterable {
  /// One line like that of the combined log of web servers.
  case text
  /// One JSON object a line.
  case json
}

/// The line of an answer in the log.
///
/// Text from the network cannot begin a new line, end a quoted text or control a terminal: such
/// bytes are escaped.
struct AccessLogLine {
  /// The line, with its line feed.
  private(set) var bytes: [UInt8] = []

  init(_ record: AnswerRecord, _ format: AccessLogFormat) {
    switch format {
    case .text:
      bytes.reserveCapacity(256 + record.url.utf8.count)
      appendText(record)
    case .json: appendJSON(record)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Appends `client - - [time] "METHOD url" status bytes "cache status" seconds source "reason"
  /// end`, where the end is `complete` or `cut`.
  private mutating func appendText(_ record: AnswerRecord) {
    bytes += (record.clientAddress.isEmpty ? "-" : record.clientAddress).utf8
    bytes += " - - [".utf8
    appendDate(record.time)
    bytes += "] \"".utf8
    appendEscaped((record.method.isEmpty ? "-" : record.method).utf8)
    bytes.append(UInt8(ascii: " "))
    appendEscaped(record.url.utf8)
    bytes += "\" ".utf8
    bytes += String(record.status).utf8
    bytes.append(UInt8(ascii: " "))
    bytes += String(record.bytesSent).utf8
    bytes += " \"".utf8
    var status: [UInt8] = []
    record.cacheStatus?.append(to: &status)
    appendEscaped(status)
    bytes += "\" ".utf8
    bytes += String(record.microseconds / 1_000_000).utf8
    bytes.append(UInt8(ascii: "."))
    let micros = String(record.microseconds % 1_000_000)
    bytes += repeatElement(UInt8(ascii: "0"), count: 6 - micros.utf8.count)
    bytes += micros.utf8
    bytes.append(UInt8(ascii: " "))
    bytes += record.source.rawValue.utf8
    bytes += " \"".utf8
    appendEscaped(record.reason.utf8)
    bytes += (record.isComplete ? "\" complete" : "\" cut").utf8
  }

  /// Appends `20/Nov/2026:23:05:01 +0000`.
  private mutating func appendDate(_ time: Timestamp) {
    let date = CivilTime(seconds: time.nanoseconds / 1_000_000_000)
    appendTwoDigits(date.day, then: "/")
    bytes += HTTPDateNames.months[date.month - 1].utf8
    bytes.append(UInt8(ascii: "/"))
    bytes += String(date.year).utf8
    bytes.append(UInt8(ascii: ":"))
    appendTwoDigits(date.hour, then: ":")
    appendTwoDigits(date.minute, then: ":")
    appendTwoDigits(date.second, then: " ")
    bytes += "+0000".utf8
  }

  private mutating func appendTwoDigits(_ number: Int, then separator: Unicode.Scalar) {
    bytes.append(UInt8(48 + number / 10))
    bytes.append(UInt8(48 + number % 10))
    bytes.append(UInt8(ascii: separator))
  }

  private mutating func appendEscaped(_ text: some Sequence<UInt8>) {
    for byte in text {
      if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else {
        bytes += "\\x\([byte].hexadecimal)".utf8
      }
    }
  }

  /// Appends an object that is ASCII, whatever the texts contain.
  private mutating func appendJSON(_ record: AnswerRecord) {
    var json = JSONWriter(capacity: 512)
    json.append("{\"time\":\"")
    json.appendTime(record.time)
    json.append("\",\"client\":")
    json.appendText(record.clientAddress, isASCII: true)
    json.append(",\"method\":")
    json.appendText(record.method, isASCII: true)
    json.append(",\"url\":")
    json.appendText(record.url, isASCII: true)
    json.append(",\"status\":")
    json.appendInteger(UInt64(clamping: record.status))
    json.append(",\"bytes\":")
    json.appendInteger(record.bytesSent)
    json.append(",\"microseconds\":")
    json.appendInteger(record.microseconds)
    json.append(",\"cache_status\":")
    json.appendText(record.cacheStatus?.description ?? "", isASCII: true)
    json.append(",\"source\":")
    json.appendText(record.source.rawValue, isASCII: true)
    json.append(",\"reason\":")
    json.appendText(record.reason, isASCII: true)
    json.append(record.isComplete ? ",\"complete\":true}" : ",\"complete\":false}")
    bytes += json.bytes
  }
}
