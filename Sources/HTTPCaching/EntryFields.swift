import CacheFormat
import CacheStore
import HTTPSemantics

/// Translates between a response and the metadata of an entry (Docs/Format.md, section HTTP).
enum EntryFields {
  /// Names of the user info that an entry of a response has.
  private static let urlName = ByteString("http-url")
  private static let requestTimeName = ByteString("http-request-time")
  private static let responseTimeName = ByteString("http-response-time")
  private static let selectingName = ByteString("http-selecting")

  /// Returns what is stored beside the body.
  ///
  /// - Parameter expires: until when it is fresh; for people and tools, the rules compute it anew.
  static func metadata(
    _ head: HTTPResponseHead, url: NormalizedURL, times: ResponseTimes, selection: Selection,
    expires: Timestamp?
  ) -> EntryMetadata {
    var userInfo = [
      Field(urlName, ByteString(url.string)),
      Field(requestTimeName, ByteString("\(times.request.nanoseconds)")),
      Field(responseTimeName, ByteString("\(times.response.nanoseconds)")),
    ]
    for field in selection.fields {
      userInfo.append(Field(selectingName, ByteString(bytes: text(of: field))))
    }
    return EntryMetadata(
      status: head.status, fields: fields(head.fields), userInfo: userInfo, expires: expires)
  }

  /// Returns fields as the store keeps them.
  static func fields(_ fields: HTTPFields) -> [Field] {
    fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) }
  }

  /// Returns what the rules see of an entry; nil if it is no response, or its user info is not ours.
  static func response(of info: EntryInfo, _ rules: CacheRules) -> StoredResponse? {
    guard let status = info.status else { return nil }
    let times = times(of: info)
    guard let selection = selection(of: info) else { return nil }
    let fields = info.fields.map {
      HTTPField(name: $0.name.description, value: $0.value.bytes)
    }
    return StoredResponse(
      status: status, fields: HTTPFields(fields), requestTime: times.request.date,
      responseTime: times.response.date, selection: selection, rules: rules)
  }

  /// Returns the times of a stored response; those of storing if the entry does not say.
  static func times(of info: EntryInfo) -> ResponseTimes {
    var times = ResponseTimes(request: info.created, response: info.created)
    for field in info.userInfo {
      if field.name == requestTimeName, let time = timestamp(field) { times.request = time }
      if field.name == responseTimeName, let time = timestamp(field) { times.response = time }
    }
    return times
  }

  /// Puts new fields and times into the metadata of an entry; the rest stays.
  static func freshen(
    _ metadata: inout EntryMetadata, fields: HTTPFields, times: ResponseTimes, expires: Timestamp?
  ) {
    metadata.fields = EntryFields.fields(fields)
    metadata.expires = expires
    metadata.userInfo.removeAll { $0.name == requestTimeName || $0.name == responseTimeName }
    metadata.userInfo.append(
      Field(requestTimeName, ByteString("\(times.request.nanoseconds)")))
    metadata.userInfo.append(
      Field(responseTimeName, ByteString("\(times.response.nanoseconds)")))
  }

  /// Returns the URL that was asked for when the response was stored.
  static func url(of info: EntryInfo) -> NormalizedURL? {
    info.userInfo.first { $0.name == urlName }?.value.string.flatMap { try? NormalizedURL($0) }
  }

  private static func timestamp(_ field: Field) -> Timestamp? {
    field.value.string.flatMap { Int64($0) }.map { Timestamp(nanoseconds: $0) }
  }

  /// A selecting field is written `name:value`, one that the request did not have `name`.
  private static func text(of field: SelectedField) -> [UInt8] {
    Array(field.name.utf8) + (field.value.map { [UInt8(ascii: ":")] + $0 } ?? [])
  }

  private static func selection(of info: EntryInfo) -> Selection? {
    var fields: [SelectedField] = []
    for item in info.userInfo where item.name == selectingName {
      let bytes = item.value.bytes
      let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
      let name = String(decoding: bytes[..<colon], as: UTF8.self)
      guard HTTPField.isToken(name) else { return nil }
      let value = colon < bytes.endIndex ? Array(bytes[(colon + 1)...]) : nil
      fields.append(SelectedField(name: name, value: value))
    }
    return Selection(fields: fields)
  }
}
