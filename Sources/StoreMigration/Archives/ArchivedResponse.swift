internal import CacheFormat
internal import HTTPSemantics

struct ArchivedResponse {
  /// The URL of the last response, after redirects.
  var url: String?
  var received: Timestamp?
  var status: Int
  /// Whether the source has no status, so that 200 is assumed.
  var isStatusMadeUp = false
  /// The fields in the order in which they were received, as far as the archive has that order.
  var fields: HTTPFields
  /// The length of the decoded body, or `nil` if `Content-Length` has it.
  var length: Int?

  init(keyedArchive bytes: [UInt8]) throws(RowError) {
    try self.init(Self.list(inArchive: bytes).get())
  }

  /// Decodes a `{Version, Array}` property list of Cache.db.
  init(cacheBlob bytes: [UInt8]) throws(RowError) {
    let list: ArchiveList
    do throws(PropertyListError) {
      list = try ArchiveList(cacheBlob: bytes)
    } catch { throw RowError.skip(.undecodableResponse, error.description) }
    try self.init(list)
  }

  /// Decodes the list: version 0 is an NSURLResponse, the others are HTTP responses.
  private init(_ list: ArchiveList) throws(RowError) {
    let items = list.items
    guard items.count >= 7 else {
      throw RowError.skip(.undecodableResponse, "the list has \(items.count) objects instead of 7")
    }
    url = ArchiveList.url(items[0])
    received = items[1].number.flatMap { Timestamp(secondsSince2001: $0) }
    length = items[5].integer
    if list.version == 0 {
      status = 200
      isStatusMadeUp = true
      fields = MadeUpFields.contentType(items[3].string, charset: items[4].string)
      return
    }
    guard let status = items[3].integer, 100...599 ~= status else {
      throw RowError.skip(
        .badStatus, "the status is \(items[3].integer.map { "\($0)" } ?? "no number")")
    }
    self.status = status
    fields = ArchivedFields.response(items[4].pairs ?? [])
  }

  private static func list(inArchive bytes: [UInt8]) -> Result<ArchiveList, RowError> {
    do throws(PropertyListError) {
      let archive = try KeyedArchive(bytes)
      guard let root = archive.root else {
        return .failure(.skip(.missingResponse, "nil was archived"))
      }
      var budget = PropertyListBudget()
      let name = try archive.className(of: root, &budget)
      guard name == "NSHTTPURLResponse" || name == "NSURLResponse" else {
        return .failure(.skip(.unexpectedClass, RowError.excerpt(name)))
      }
      return .success(try ArchiveList(root, in: archive))
    } catch { return .failure(.skip(.undecodableResponse, error.description)) }
  }
}
