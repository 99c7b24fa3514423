import CacheFormat
import HTTPSemantics

// The file of a record (Docs/Format.md, "Downloads"): JSON with a checksum. Earlier versions read
// and wrote it as the metadata file of an entry; the members that a download does not need are
// constants.
extension DownloadRecord {
  /// The longest file that is written or read, in bytes.
  static let maximumBytes = 8 << 20
  private static let format: UInt64 = 1
  private static let maximumFields = 65_536

  /// The names of the members of `userInfo`.
  fileprivate enum Name {
    static let file = ByteString("download-file")
    static let answeredBy = ByteString("download-answered-by")
    static let ended = ByteString("download-ended")
    static let expiry = ByteString("download-expiry-seconds")
    static let isSliding = ByteString("download-expiry-sliding")
    static let length = ByteString("download-length")
    static let modified = ByteString("download-modified")
    static let replaced = ByteString("download-replaced")
    static let mayReplace = ByteString("download-may-replace")
    static let user = ByteString("download-user")
    static let selecting = ByteString("download-selecting")
  }

  /// Returns the bytes of the file.
  ///
  /// - Throws: ``FormatError`` with `outOfBounds` for a status outside 0 to 999, and `tooLarge` for too
  ///   many fields or bytes. ``init(decoding:)`` reads all that this returns.
  func encoded() throws(FormatError) -> [UInt8] {
    guard (0...999).contains(head.status) else {
      throw FormatError(.outOfBounds, "status \(head.status) is not between 0 and 999")
    }
    guard head.fields.count <= Self.maximumFields else {
      throw FormatError(.tooLarge, "there are \(head.fields.count) fields")
    }
    var writer = JSONWriter(capacity: 1024)
    writer.append("{\n \"format\": 1,\n \"seed\": \"0000000000000000\",\n \"key\": ")
    writer.appendString(ByteString(url))
    writer.append(",\n \"variant\": \"0000000000000000\",\n \"status\": ")
    writer.appendInteger(UInt64(head.status))
    writer.append(",\n \"fields\": ")
    writer.appendFields(head.fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) })
    writer.append(",\n \"userInfo\": ")
    writer.appendFields(items)
    writer.append(",\n \"tags\": [],\n \"created\": \"")
    writer.appendTime(started)
    writer.append("\",\n \"accessed\": \"")
    writer.appendTime(started)
    if let expires {
      writer.append("\",\n \"expires\": \"")
      writer.appendTime(expires)
    }
    writer.append("\",\n \"pinned\": false,\n \"digest\": \"00000000000000000000000000000000\"")
    writer.append(",\n \"length\": ")
    writer.appendInteger(length ?? 0)
    DocumentEnvelope.seal(&writer, seed: 0)
    guard writer.bytes.count <= Self.maximumBytes else {
      throw FormatError(.tooLarge, "the record has \(writer.bytes.count) bytes")
    }
    return writer.bytes
  }

  private var items: [Field] {
    var items = [Field(Name.file, file), Field(Name.answeredBy, ByteString(answeredBy))]
    func add(_ name: ByteString, _ value: (some CustomStringConvertible)?) {
      if let value { items.append(Field(name, ByteString(value.description))) }
    }
    add(Name.ended, ended?.nanoseconds)
    add(Name.expiry, expiry?.seconds)
    add(Name.isSliding, expiry?.isSliding)
    add(Name.length, length)
    add(Name.modified, modified)
    add(Name.replaced, replaced)
    add(Name.mayReplace, mayReplace)
    add(Name.user, selection.user.isEmpty ? nil : selection.user)
    add(Name.selecting, selection.fields.isEmpty ? nil : selection.fields)
    return items
  }

  /// Reads the bytes of a file; returns `nil` if they are damaged, or not a record of a download.
  init?(decoding bytes: [UInt8]) {
    var draft = Draft()
    do throws(FormatError) {
      _ = try DocumentEnvelope.read(
        bytes, maximumBytes: Self.maximumBytes, seed: 0
      ) { (reader, name) throws(FormatError) in
        try draft.read(name, from: &reader)
      }
    } catch {
      return nil
    }
    guard let record = draft.record else { return nil }
    self = record
  }

  /// The members that were read so far.
  private struct Draft {
    private var url: String?
    private var status: Int?
    private var fields: [Field] = []
    private var items: [Field] = []
    private var started: Timestamp?
    private var expires: Timestamp?

    mutating func read(_ name: String, from reader: inout JSONReader) throws(FormatError) {
      switch name {
      case "format":
        try DocumentEnvelope.check(
          format: try reader.readUnsigned(), newest: DownloadRecord.format, at: 0)
      case "key": url = try reader.readByteString().string
      case "status": status = Int(exactly: try reader.readUnsigned())
      case "fields": fields = try reader.readFields()
      case "userInfo": items = try reader.readFields()
      case "created": started = try reader.readTime()
      case "expires": expires = try reader.readTime()
      default: try reader.skipValue()
      }
    }

    /// The record, or `nil` if a member is missing without which there is none.
    var record: DownloadRecord? {
      guard let url, let status, (0...999).contains(status), let started,
        let file = items.first(where: { $0.name == Name.file })?.value
      else { return nil }
      let head = HTTPResponseHead(
        status: status,
        fields: HTTPFields(
          fields.map { HTTPField(name: $0.name.description, value: $0.value.bytes) }))
      var record = DownloadRecord(
        file: file, url: url, answeredBy: text(Name.answeredBy) ?? url, head: head,
        started: started)
      record.ended = number(Name.ended).map { Timestamp(nanoseconds: $0) }
      record.expires = expires
      record.expiry = number(Name.expiry).map {
        DownloadExpiry(after: $0, isSliding: text(Name.isSliding) == "true")
      }
      record.length = text(Name.length).flatMap { UInt64($0) }
      record.modified = number(Name.modified)
      record.replaced = number(Name.replaced)
      record.mayReplace = number(Name.mayReplace)
      record.selection = DownloadSelection(
        user: text(Name.user) ?? "", fields: text(Name.selecting) ?? "")
      return record
    }

    private func text(_ name: ByteString) -> String? {
      items.first { $0.name == name }?.value.string
    }

    private func number(_ name: ByteString) -> Int64? { text(name).flatMap { Int64($0) } }
  }
}
