import CacheFormat
import HTTPSemantics

// The file of a record (Docs/Format.md, "Downloads"): JSON with a checksum. Earlier versions read
// and wrote it as the metadata file of an entry; the members that a download does not need are
// constants.
extension DownloadRecord {
  /// The longest file that is written or read, in bytes.
  static let maximumBytes = MetadataDocument.maximumBytes

  fileprivate enum Name {
    static let file = ByteString("download-file")
    static let answeredBy = ByteString("download-answered-by")
    static let ended = ByteString("download-ended")
    static let given = ByteString("download-given")
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
    let fields = head.fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) }
    let entry = StoredEntry(
      key: ByteString(url), variant: 0, digest: Digest(high: 0, low: 0), length: length ?? 0,
      created: started, accessed: started, isPinned: false,
      metadata: EntryMetadata(
        status: head.status, fields: fields, userInfo: items, expires: expires))
    return try MetadataDocument(hashSeed: 0, entry: entry).encoded()
  }

  private var items: [Field] {
    var items = [Field(Name.file, file), Field(Name.answeredBy, ByteString(answeredBy))]
    func add(_ name: ByteString, _ value: (some CustomStringConvertible)?) {
      if let value { items.append(Field(name, ByteString(value.description))) }
    }
    add(Name.ended, ended?.nanoseconds)
    add(Name.given, given?.nanoseconds)
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
    guard let document = try? MetadataDocument(decoding: bytes, hashSeed: 0),
      let url = document.entry.key.string, let status = document.entry.status
    else { return nil }
    let (entry, items) = (document.entry, Items(list: document.entry.userInfo))
    guard let file = items.value(Name.file), let answeredBy = items.text(Name.answeredBy) else {
      return nil
    }
    let head = HTTPResponseHead(
      status: status,
      fields: HTTPFields(
        entry.fields.map { HTTPField(name: $0.name.description, value: $0.value.bytes) }))
    self.init(
      file: file, url: url, answeredBy: answeredBy, head: head, started: entry.created)
    ended = items.number(Name.ended).map { Timestamp(nanoseconds: $0) }
    given = items.number(Name.given).map { Timestamp(nanoseconds: $0) }
    expires = entry.expires
    expiry = items.number(Name.expiry).map {
      DownloadExpiry(after: $0, isSliding: items.text(Name.isSliding) == "true")
    }
    length = items.text(Name.length).flatMap { UInt64($0) }
    modified = items.number(Name.modified)
    replaced = items.number(Name.replaced)
    mayReplace = items.number(Name.mayReplace)
    selection = DownloadSelection(
      user: items.text(Name.user) ?? "", fields: items.text(Name.selecting) ?? "")
  }

  private struct Items {
    let list: [Field]

    func value(_ name: ByteString) -> ByteString? { list.first { $0.name == name }?.value }
    func text(_ name: ByteString) -> String? { value(name)?.string }
    func number(_ name: ByteString) -> Int64? { text(name).flatMap { Int64($0) } }
  }
}
