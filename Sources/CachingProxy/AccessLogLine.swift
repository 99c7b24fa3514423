import CacheFormat
import HTTPSemantics

package enum AccessLogFormat: String, Sendable, Hashable, CaseIterable {
  /// One line like that of the combined log of web servers.
  case text
  /// One JSON object a line.
  case json
}

/// Formats records of answers as lines.
///
/// Text from the network cannot begin a new line, end a quoted text or control a terminal: such
/// bytes are escaped.
struct AccessLogLine {
  private let format: AccessLogFormat
  /// The second of the last line, which most lines share.
  private var second: Int64?
  private var date: [UInt8] = []
  /// The Cache-Status of the last line.
  private var status: [UInt8] = []

  init(_ format: AccessLogFormat) { self.format = format }

  mutating func append(_ record: AnswerRecord, to bytes: inout [UInt8]) {
    switch format {
    case .text: appendText(record, to: &bytes)
    case .json: Self.appendJSON(record, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Appends `client - - [time] "METHOD url" status bytes "cache status" seconds source "reason"
  /// end`, where the end is `complete` or `cut`.
  private mutating func appendText(_ record: AnswerRecord, to bytes: inout [UInt8]) {
    bytes += (record.clientAddress.isEmpty ? "-" : record.clientAddress).utf8
    bytes += " - - [".utf8
    appendDate(record.time, to: &bytes)
    bytes += "] \"".utf8
    Self.appendEscaped((record.method.isEmpty ? "-" : record.method).utf8, to: &bytes)
    bytes.append(UInt8(ascii: " "))
    Self.appendEscaped(record.url.utf8, to: &bytes)
    bytes += "\" \(record.status) \(record.bytesSent) \"".utf8
    status.removeAll(keepingCapacity: true)
    record.cacheStatus?.append(to: &status)
    Self.appendEscaped(status, to: &bytes)
    let micros = String(record.microseconds % 1_000_000)
    bytes += "\" \(record.microseconds / 1_000_000).".utf8
    bytes += repeatElement(UInt8(ascii: "0"), count: 6 - micros.utf8.count)
    bytes += micros.utf8
    bytes += " \(record.source.rawValue) \"".utf8
    Self.appendEscaped(record.reason.utf8, to: &bytes)
    bytes += (record.isComplete ? "\" complete" : "\" cut").utf8
  }

  /// Appends `20/Nov/2026:23:05:01 +0000`.
  private mutating func appendDate(_ time: Timestamp, to bytes: inout [UInt8]) {
    let second = time.nanoseconds / 1_000_000_000
    if self.second != second {
      self.second = second
      // The form of the text: 2026-11-20T23:05:01.000000000Z
      let text = Array(time.description.utf8)
      let month = Int(text[5] - 48) * 10 + Int(text[6] - 48)
      date = text[8..<10] + Array("/\(HTTPDateNames.months[month - 1])/".utf8) + text[0..<4]
      date += Array(":".utf8) + text[11..<19] + Array(" +0000".utf8)
    }
    bytes += date
  }

  private static func appendEscaped(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    for byte in text {
      if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else {
        bytes += "\\x\([byte].hexadecimal)".utf8
      }
    }
  }

  /// Appends an object that is ASCII, whatever the texts contain.
  private static func appendJSON(_ record: AnswerRecord, to bytes: inout [UInt8]) {
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
