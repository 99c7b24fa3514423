import CacheFormat

/// Says how the lines of an access log look.
public enum AccessLogFormat: String, Sendable, Hashable, CaseIterable {
  /// One line like that of the combined log of web servers.
  case text
  /// One JSON object a line.
  case json
}

/// Writes records of answers as lines.
///
/// What comes from the network cannot begin a new line, end a quoted text or steer a terminal:
/// such bytes are escaped.
struct AccessLogLine {
  private let format: AccessLogFormat
  /// Most lines share their second with the one before.
  private var second: Int64?
  private var date: [UInt8] = []

  init(_ format: AccessLogFormat) { self.format = format }

  /// Appends the line of a record, with its line feed.
  mutating func append(_ record: AnswerRecord, to bytes: inout [UInt8]) {
    switch format {
    case .text: appendText(record, to: &bytes)
    case .json: Self.appendJSON(record, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  /// `client - - [time] "METHOD url" status bytes "cache status" seconds source "reason" end`, where
  /// the end is `complete` or `cut`.
  private mutating func appendText(_ record: AnswerRecord, to bytes: inout [UInt8]) {
    bytes += (record.clientAddress.isEmpty ? "-" : record.clientAddress).utf8
    bytes += " - - [".utf8
    appendDate(record.time, to: &bytes)
    bytes += "] \"".utf8
    Self.appendEscaped(record.method, to: &bytes)
    bytes.append(UInt8(ascii: " "))
    Self.appendEscaped(record.url, to: &bytes)
    bytes += "\" \(record.status) \(record.bytesSent) \"".utf8
    Self.appendEscaped(record.cacheStatus, to: &bytes)
    let micros = String(record.microseconds % 1_000_000)
    bytes += "\" \(record.microseconds / 1_000_000).".utf8
    bytes += repeatElement(UInt8(ascii: "0"), count: 6 - micros.utf8.count)
    bytes += micros.utf8
    bytes += " \(record.source.rawValue) \"".utf8
    Self.appendEscaped(record.reason, to: &bytes)
    bytes += (record.isComplete ? "\" complete" : "\" cut").utf8
  }

  /// Appends `20/Nov/2026:23:05:01 +0000`.
  private mutating func appendDate(_ time: Timestamp, to bytes: inout [UInt8]) {
    let second = time.nanoseconds / 1_000_000_000
    if self.second != second {
      self.second = second
      // 2026-11-20T23:05:01.000000000Z
      let text = Array(time.description.utf8)
      let month = Int(text[5] - 48) * 10 + Int(text[6] - 48)
      date = text[8..<10] + Array("/\(Self.months[month - 1])/".utf8) + text[0..<4]
      date += Array(":".utf8) + text[11..<19] + Array(" +0000".utf8)
    }
    bytes += date
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
    for byte in text.utf8 {
      if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else {
        bytes += "\\x".utf8
        bytes.append(hexDigits[Int(byte >> 4)])
        bytes.append(hexDigits[Int(byte & 15)])
      }
    }
  }

  private static let hexDigits = Array("0123456789abcdef".utf8)

  private static func appendJSON(_ record: AnswerRecord, to bytes: inout [UInt8]) {
    bytes += "{\"time\":\"\(record.time)\",\"client\":".utf8
    appendQuoted(record.clientAddress, to: &bytes)
    bytes += ",\"method\":".utf8
    appendQuoted(record.method, to: &bytes)
    bytes += ",\"url\":".utf8
    appendQuoted(record.url, to: &bytes)
    bytes += ",\"status\":\(record.status),\"bytes\":\(record.bytesSent)".utf8
    bytes += ",\"microseconds\":\(record.microseconds),\"cache_status\":".utf8
    appendQuoted(record.cacheStatus, to: &bytes)
    bytes += ",\"source\":\"\(record.source.rawValue)\",\"reason\":".utf8
    appendQuoted(record.reason, to: &bytes)
    bytes += ",\"complete\":\(record.isComplete)}".utf8
  }

  /// Appends a JSON string (RFC 8259, section 7) that is ASCII, whatever the text is.
  private static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for unit in text.utf16 {
      if unit == 0x22 || unit == 0x5C {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(truncatingIfNeeded: unit))
      } else if unit >= 0x20, unit < 0x7F {
        bytes.append(UInt8(truncatingIfNeeded: unit))
      } else {
        bytes += "\\u".utf8
        for shift in [12, 8, 4, 0] { bytes.append(hexDigits[Int(unit >> UInt16(shift)) & 15]) }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
