import CacheFormat
import HTTPSemantics

/// Translates between an answer and an entry of the store.
enum StoredAnswer {
  /// Names of the user info that an entry of this client has.
  private static let urlName = ByteString("http-url")
  private static let requestTimeName = ByteString("http-request-time")
  private static let responseTimeName = ByteString("http-response-time")

  /// Returns the key of a request: its method and its normal URL.
  static func key(of request: HTTPRequest) -> ByteString {
    ByteString("\(request.method) \(request.url)")
  }

  /// Returns what is stored beside the body.
  static func metadata(
    _ head: HTTPResponseHead, url: NormalizedURL, times: ResponseTimes
  ) -> EntryMetadata {
    EntryMetadata(
      status: head.status,
      fields: CachingRules.storedFields(head.fields).map {
        Field(ByteString($0.name), ByteString(bytes: $0.value))
      },
      userInfo: [
        Field(urlName, ByteString(url.string)),
        Field(requestTimeName, ByteString("\(times.request.nanoseconds)")),
        Field(responseTimeName, ByteString("\(times.response.nanoseconds)")),
      ])
  }

  /// Returns the head of a stored answer; nil if the entry is something else.
  static func head(of info: EntryInfo) -> HTTPResponseHead? {
    guard let status = info.status else { return nil }
    let fields = info.fields.map {
      HTTPField(name: $0.name.description, value: $0.value.bytes)
    }
    return HTTPResponseHead(status: status, fields: HTTPFields(fields))
  }

  /// Returns the URL that answered; that of the request if the entry does not say.
  static func url(of info: EntryInfo, request: HTTPRequest) -> NormalizedURL {
    value(urlName, info).flatMap { try? NormalizedURL($0) } ?? request.url
  }

  /// Returns the times of a stored answer; those of storing if the entry does not say.
  static func times(of info: EntryInfo) -> ResponseTimes {
    ResponseTimes(
      request: time(requestTimeName, info) ?? info.created,
      response: time(responseTimeName, info) ?? info.created)
  }

  private static func time(_ name: ByteString, _ info: EntryInfo) -> Timestamp? {
    value(name, info).flatMap { Int64($0) }.map { Timestamp(nanoseconds: $0) }
  }

  private static func value(_ name: ByteString, _ info: EntryInfo) -> String? {
    info.userInfo.first { $0.name == name }?.value.string
  }
}
