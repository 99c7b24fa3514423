import CacheFormat

/// All shared responses of a key.
struct SharedDocument: Sendable, Hashable {
  /// The most responses that a document is written with; those received longest ago are left out.
  static let maximumWritten = 32
  static let maximumRead = 64
  /// The longest document that is written or read, in bytes, with its envelope.
  static let maximumBytes = 4 << 20

  var namespace: String
  var key: ByteString
  /// The newest purge that the writer had seen.
  var generation: UInt64
  var responses: [SharedResponse]

  /// Returns the document with another response: the one that was received last wins for each
  /// selection. What a purge covers is left out.
  ///
  /// - Parameters:
  ///   - seen: The newest purge that this machine had seen when it requested the response.
  ///   - purges: The purges that this machine knows now.
  ///   - now: The present time. What was received later is of a machine with a wrong clock, and does
  ///     not win.
  /// - Returns: `nil` if the response itself is purged.
  func adding(
    _ response: SharedResponse, seen: UInt64, purges: PurgeList, now: Timestamp
  ) -> SharedDocument? {
    guard !purges.covers(key, tags: response.form.tags, generation: seen) else { return nil }
    var kept = responses.filter {
      !purges.covers(key, tags: $0.form.tags, generation: generation)
        && $0.form.selecting != response.form.selecting
    }
    let rival = responses.first { $0.form.selecting == response.form.selecting }
    let isOlder = rival.map {
      $0.form.received > response.form.received
        && $0.form.received <= now.advanced(bySeconds: RemoteCache.clockTolerance)
        && !purges.covers(key, tags: $0.form.tags, generation: generation)
    }
    if let rival, isOlder == true { kept.append(rival) } else { kept.append(response) }
    kept.sort { $0.form.received > $1.form.received }
    var result = self
    result.responses = Array(kept.prefix(Self.maximumWritten))
    result.generation = max(purges.newest, seen)
    return result
  }
}

// The inner document: {"v":1,"namespace":…,"key":…,"generation":…,"variants":[…]}.
extension SharedDocument {
  /// Returns the bytes of the inner document, which are signed.
  func encoded() -> [UInt8] {
    var writer = JSONWriter(capacity: 1024)
    writer.append("{\"v\": 1, \"namespace\": ")
    writer.appendText(namespace)
    writer.append(", \"key\": ")
    writer.appendString(key)
    writer.append(", \"generation\": ")
    writer.appendInteger(generation)
    writer.append(", \"variants\": [")
    for (index, response) in responses.enumerated() {
      if index > 0 { writer.append(", ") }
      response.write(to: &writer)
    }
    writer.append("]}")
    return writer.bytes
  }

  /// Reads the bytes of an inner document.
  ///
  /// - Throws: `FormatError` for anything that ``encoded()`` does not write.
  init(decoding bytes: [UInt8]) throws(FormatError) {
    var namespace: String?
    var key: ByteString?
    var generation: UInt64?
    var responses: [SharedResponse]?
    try JSONObject.read(bytes) { (reader, name) throws(FormatError) in
      switch name {
      case "v": try JSONObject.checkVersion(&reader)
      case "namespace": namespace = try reader.readByteString().string
      case "key": key = try reader.readByteString()
      case "generation": generation = try reader.readUnsigned()
      case "variants":
        var read: [SharedResponse] = []
        try reader.readArray(limit: Self.maximumRead) { (reader) throws(FormatError) in
          read.append(try SharedResponse(from: &reader))
        }
        responses = read
      default: try reader.skipValue()
      }
    }
    guard let namespace, let key, let generation, let responses else {
      throw FormatError(.missingMember, "the document of a key lacks a member")
    }
    self.init(namespace: namespace, key: key, generation: generation, responses: responses)
  }
}

extension SharedResponse {
  /// The most request fields that select one response, and the most tags.
  private static let maximumItems = 1024

  fileprivate func write(to writer: inout JSONWriter) {
    writer.append("{\"selecting\": ")
    Self.write(form.selecting, to: &writer)
    writer.append(", \"status\": ")
    writer.appendInteger(UInt64(max(0, form.status)))
    writer.append(", \"fields\": ")
    writer.appendFields(form.fields)
    writer.append(", \"tags\": ")
    Self.write(form.tags, to: &writer)
    writer.append(", \"digest\": \"")
    writer.append(raw: bodyDigest.hexadecimal)
    writer.append("\", \"length\": ")
    writer.appendInteger(length)
    writer.append(", \"requested\": ")
    writer.appendInteger(UInt64(max(0, form.requested.nanoseconds)))
    writer.append(", \"received\": ")
    writer.appendInteger(UInt64(max(0, form.received.nanoseconds)))
    if let inlineBody {
      writer.append(", \"body\": ")
      writer.appendString(ByteString(bytes: inlineBody))
    }
    writer.append("}")
  }

  private static func write(_ texts: [ByteString], to writer: inout JSONWriter) {
    writer.append("[")
    for (index, text) in texts.enumerated() {
      if index > 0 { writer.append(", ") }
      writer.appendString(text)
    }
    writer.append("]")
  }

  fileprivate init(from reader: inout JSONReader) throws(FormatError) {
    self.init(
      SharedForm(status: 0, fields: [], requested: .distantPast, received: .distantPast),
      bodyDigest: [], length: 0)
    try reader.readObject { (reader, name) throws(FormatError) in
      switch String(decoding: name, as: UTF8.self) {
      case "selecting": form.selecting = try Self.readTexts(&reader)
      case "status": form.status = Int(clamping: try reader.readUnsigned())
      case "fields": form.fields = try reader.readFields()
      case "tags": form.tags = try Self.readTexts(&reader)
      case "digest":
        bodyDigest = [UInt8](hexadecimal: try reader.readByteString().description) ?? []
      case "length": length = try reader.readUnsigned()
      case "requested": form.requested = try Self.readTime(&reader)
      case "received": form.received = try Self.readTime(&reader)
      case "body": inlineBody = try reader.readByteString().bytes
      default: try reader.skipValue()
      }
    }
    guard (100...999).contains(form.status), bodyDigest.count == 32, length <= UInt64(Int64.max),
      form.received != .distantPast, form.requested != .distantPast,
      inlineBody.map({ UInt64($0.count) == length }) ?? true
    else { throw reader.error(.outOfBounds, "has a response with an impossible value") }
  }

  private static func readTexts(_ reader: inout JSONReader) throws(FormatError) -> [ByteString] {
    var texts: [ByteString] = []
    try reader.readArray(limit: maximumItems) { (reader) throws(FormatError) in
      texts.append(try reader.readByteString())
    }
    return texts
  }

  private static func readTime(_ reader: inout JSONReader) throws(FormatError) -> Timestamp {
    guard let nanoseconds = Int64(exactly: try reader.readUnsigned()) else {
      throw reader.error(.outOfBounds, "has a time beyond 2262")
    }
    return Timestamp(nanoseconds: nanoseconds)
  }
}
