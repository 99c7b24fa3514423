public import CacheFormat
public import HTTPSemantics
import HTTPTransport

/// Tells of one downloaded file, or of the bytes of one that is not finished; kept beside it, see
/// ``DownloadPlace``.
public struct DownloadRecord: Sendable, Hashable {
  /// Gives the name of the file within its folder.
  public internal(set) var file: ByteString

  /// Gives the URL that was asked for, without credentials.
  public internal(set) var url: String

  /// Gives the URL that answered: the last of the redirects.
  public internal(set) var answeredBy: String

  /// Gives status and fields of the answer, without `Set-Cookie`.
  public internal(set) var head: HTTPResponseHead

  /// Tells when the download began.
  public internal(set) var started: Timestamp

  /// Tells when it ended; nil: it has not.
  public internal(set) var ended: Timestamp?

  /// Says what the caller has asked for, to be counted from the end of the download; nil: nothing.
  public internal(set) var expiry: DownloadExpiry?

  /// Tells until when the file is good without asking; nil: nobody has said, or it is not finished.
  public internal(set) var expires: Timestamp?

  /// Gives the length of the file in bytes; nil: it was not known, as long as it is not finished.
  public internal(set) var length: UInt64?

  /// Gives the time of the last change of the file, in nanoseconds since 1970: a file with another one
  /// is not the one that this tells of.
  package internal(set) var modified: Int64?

  /// Gives that of the file that stood there before, if it was a download of the URL, too: a kill may
  /// come between this record and the file's taking its place.
  var replaced: Int64?

  /// Gives that of somebody else's file, which it was begun to replace; nil once it is finished.
  var mayReplace: Int64?

  init(
    file: ByteString, url: String, answeredBy: String, head: HTTPResponseHead, started: Timestamp
  ) {
    self.file = file
    self.url = url
    self.answeredBy = answeredBy
    self.head = head
    self.head.fields.removeAll(named: "Set-Cookie")
    self.started = started
  }

  /// Tells this answer from others, to this or another file: what the sums of its bytes begin with
  /// (Docs/Format.md, "Downloads").
  var mark: [UInt8] {
    let validators = ["ETag", "Last-Modified"].map { head.fields.first(named: $0)?.value ?? [] }
    let parts = [file.bytes, Array(url.utf8), Array("\(started.nanoseconds)".utf8)] + validators
    return parts.flatMap { $0 + [0] }
  }

  /// Tells whether an answer with the same validator is one about the same file.
  ///
  /// A validator tells states of one resource apart, and a redirect may lead to another one. Of that
  /// the queries may differ, as they do where URLs are signed; else, on a mirror, the time of the last
  /// change has to be the same, too.
  func isMet(by answer: TransportResponse) -> Bool {
    func place(_ url: String) -> Substring { url.prefix { $0 != "?" } }
    let modified = head.fields.first(named: "Last-Modified")?.value
    return place(answeredBy) == place(answer.url.string)
      || head.fields.contains("ETag") && modified != nil
        && modified == answer.head.fields.first(named: "Last-Modified")?.value
  }

  /// Sets the expiry, counted from a time; nil: it stays as it is.
  mutating func expire(_ expiry: DownloadExpiry?, from time: Timestamp) {
    guard let expiry else { return }
    self.expiry = expiry
    expires = time.advanced(bySeconds: Double(expiry.seconds))
  }

  /// Tells whether the time has passed that the caller set.
  func hasExpired(at now: Timestamp) -> Bool { expires.map { $0 <= now } ?? false }

  /// Tells whether it is good without asking, by what was said when it came and by what is said now.
  func isGood(at now: Timestamp, for asked: DownloadExpiry?) -> Bool {
    guard let expires, let expiry else { return false }
    // The end of the download, the last time that the server confirmed it, or the last use.
    let begun = expires.advanced(bySeconds: -Double(expiry.seconds))
    // A clock that was set back makes nothing good for longer than was asked for.
    guard begun <= now, now < expires else { return false }
    return asked.map { now < begun.advanced(bySeconds: Double($0.seconds)) } ?? true
  }
}

// The written form: a metadata document (Docs/Format.md) with user info of its own, so that there is
// one reader, which bears anything.
extension DownloadRecord {
  private enum Name {
    static let file = ByteString("download-file")
    static let answeredBy = ByteString("download-answered-by")
    static let ended = ByteString("download-ended")
    static let expiry = ByteString("download-expiry-seconds")
    static let isSliding = ByteString("download-expiry-sliding")
    static let length = ByteString("download-length")
    static let modified = ByteString("download-modified")
    static let replaced = ByteString("download-replaced")
    static let mayReplace = ByteString("download-may-replace")
  }

  func encoded() throws(FormatError) -> [UInt8] {
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
    let fields = head.fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) }
    let entry = StoredEntry(
      key: ByteString(url), digest: Digest(high: 0, low: 0), length: length ?? 0,
      created: started, accessed: started,
      metadata: EntryMetadata(
        status: head.status, fields: fields, userInfo: items, expires: expires))
    return try MetadataDocument(hashSeed: 0, entry: entry).encoded()
  }

  /// Reads a record; nil where it is damaged or none.
  init?(decoding bytes: [UInt8]) {
    guard let entry = try? MetadataDocument(decoding: bytes, hashSeed: 0).entry,
      let url = entry.key.string, let status = entry.status,
      let file = entry.userInfo.first(where: { $0.name == Name.file })?.value
    else { return nil }
    let fields = entry.fields.map { HTTPField(name: $0.name.description, value: $0.value.bytes) }
    func text(_ name: ByteString) -> String? {
      entry.userInfo.first { $0.name == name }?.value.string
    }
    self.init(
      file: file, url: url, answeredBy: text(Name.answeredBy) ?? url,
      head: HTTPResponseHead(status: status, fields: HTTPFields(fields)), started: entry.created)
    ended = text(Name.ended).flatMap { Int64($0) }.map { Timestamp(nanoseconds: $0) }
    expires = entry.expires
    expiry = text(Name.expiry).flatMap { Int64($0) }.map {
      DownloadExpiry(after: $0, isSliding: text(Name.isSliding) == "true")
    }
    length = text(Name.length).flatMap { UInt64($0) }
    modified = text(Name.modified).flatMap { Int64($0) }
    replaced = text(Name.replaced).flatMap { Int64($0) }
    mayReplace = text(Name.mayReplace).flatMap { Int64($0) }
  }
}
