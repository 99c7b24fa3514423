package import CacheFormat
import CacheStore
import HTTPSemantics

/// Converts between a response and the metadata of an entry (Docs/Format.md, section "What the HTTP
/// client keeps there").
package enum EntryFields {
  /// The names of the user info in the entry of a response.
  private static let urlName = ByteString("http-url")
  private static let requestTimeName = ByteString("http-request-time")
  private static let responseTimeName = ByteString("http-response-time")
  private static let selectingName = ByteString("http-selecting")
  private static let personalName = ByteString("http-personal")
  private static let bodyDateName = ByteString("http-body-date")
  private static let outdatedName = ByteString("http-outdated")
  private static let historyName = ByteString("http-history")

  /// Returns the metadata to store with the body.
  ///
  /// - Parameter expires: the time at which it becomes stale; for people and tools only, as the
  ///   rules compute it again.
  static func metadata(
    _ response: StoredResponse, url: NormalizedURL, times: ResponseTimes, expires: Timestamp?
  ) -> EntryMetadata {
    EntryMetadata(
      status: response.status, fields: fields(response.fields),
      userInfo: [Field(urlName, ByteString(url.string))] + userInfo(times, response),
      expires: expires)
  }

  /// Returns the user info that changes when a response is freshened.
  private static func userInfo(_ times: ResponseTimes, _ response: StoredResponse) -> [Field] {
    [
      Field(requestTimeName, ByteString("\(times.request.nanoseconds)")),
      Field(responseTimeName, ByteString("\(times.response.nanoseconds)")),
    ]
      + (response.bodyDate.map { [Field(bodyDateName, ByteString("\($0.seconds)"))] } ?? [])
      + (response.mayBePersonal || response.isPersonal
        ? [Field(personalName, response.isPersonal ? "true" : "maybe")] : [])
      + response.selection.fields.map { Field(selectingName, line($0)) }
  }

  /// Marks the metadata of a response that is kept for use without a network only. It is spare, so
  /// it does not push out for long what may be reused.
  static func markAsHistory(_ metadata: inout EntryMetadata) {
    metadata.tags.append(EntryMetadata.spareTag)
    metadata.userInfo.append(Field(historyName, "true"))
    metadata.expires = nil
  }

  /// Marks the metadata of a response that is stale whatever its fields say.
  static func markAsOutdated(_ metadata: inout EntryMetadata) {
    metadata.userInfo.append(Field(outdatedName, "true"))
    metadata.expires = nil
  }

  /// Returns fields in the form of the store.
  static func fields(_ fields: HTTPFields) -> [Field] {
    fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) }
  }

  /// Returns the response of an entry with its exact times, and whether it is kept for use without a
  /// network only; `nil` if the entry is not a response, or if its user info
  /// has another form.
  ///
  /// It is called for every hit, so the record is decoded only once and its items are read in one
  /// pass.
  static func read(
    _ info: EntryInfo, _ rules: CacheRules
  ) -> (response: StoredResponse, times: ResponseTimes, isHistory: Bool)? {
    let metadata = info.metadata
    guard let status = metadata.status else { return nil }
    var times = ResponseTimes(request: info.created, response: info.created)
    var selecting: [SelectedField] = []
    var (isPersonal, mayBePersonal) = (false, false)
    var bodyDate: HTTPDate?
    var isOutdated = false
    var isHistory = false
    for item in metadata.userInfo {
      switch item.name {
      case requestTimeName: if let time = timestamp(item) { times.request = time }
      case responseTimeName: if let time = timestamp(item) { times.response = time }
      case personalName:
        (isPersonal, mayBePersonal) = (item.value != "maybe", true)
      case bodyDateName:
        bodyDate = Int64(item.value.description).map { HTTPDate(seconds: $0) }
      case outdatedName: isOutdated = true
      case historyName: isHistory = true
      case selectingName:
        guard let field = selectedField(item) else { return nil }
        selecting.append(field)
      default: break
      }
    }
    let fields = metadata.fields.map {
      HTTPField(name: $0.name.description, value: $0.value.bytes)
    }
    let response = StoredResponse(
      status: status, fields: HTTPFields(fields), requestTime: times.request.date,
      responseTime: times.response.date,
      selection: selecting.isEmpty ? .none : Selection(fields: selecting), isPersonal: isPersonal,
      mayBePersonal: mayBePersonal, bodyDate: bodyDate, isOutdated: isOutdated, rules: rules)
    return (response, times, isHistory)
  }

  static func url(of metadata: EntryMetadata) -> NormalizedURL? {
    metadata.userInfo.first { $0.name == urlName }.flatMap {
      try? NormalizedURL($0.value.description)
    }
  }

  /// Returns a selecting field as one line, which ``selection(_:)`` reads: `name:value`, or `name` if
  /// the request did not have the field.
  static func line(_ field: SelectedField) -> ByteString {
    let value: [UInt8] = field.value.map { [UInt8(ascii: ":")] + $0 } ?? []
    return ByteString(bytes: Array(field.name.utf8) + value)
  }

  /// Reads the lines of selecting fields; `nil` if one is malformed or there are too many.
  static func selection(_ lines: [ByteString]) -> Selection? {
    let fields = lines.compactMap { selectedField(Field(selectingName, $0)) }
    guard fields.count == lines.count, fields.count <= Selection.maximumFields,
      Set(fields.map(\.name)).count == fields.count
    else { return nil }
    return Selection(fields: fields)
  }

  /// Returns the time at which the head of a stored response was received; if it is not recorded,
  /// the time at which the response was stored.
  package static func responseTime(of info: EntryInfo) -> Timestamp {
    responseTime(of: info.metadata) ?? info.created
  }

  /// Returns that time from metadata; `nil` if they have none.
  static func responseTime(of metadata: EntryMetadata) -> Timestamp? {
    metadata.userInfo.first { $0.name == responseTimeName }.flatMap(timestamp)
  }

  /// Replaces the response in the metadata of an entry by a freshened one; does not change the
  /// rest.
  static func freshen(
    _ metadata: inout EntryMetadata, _ fresh: StoredResponse, times: ResponseTimes,
    expires: Timestamp?
  ) {
    metadata.fields = EntryFields.fields(fresh.fields)
    metadata.expires = expires
    let changing = [
      requestTimeName, responseTimeName, selectingName, personalName, bodyDateName, outdatedName,
    ]
    metadata.userInfo.removeAll { changing.contains($0.name) }
    metadata.userInfo += userInfo(times, fresh)
  }

  /// Reads decimal digits with a sign, as written above.
  private static func timestamp(_ field: Field) -> Timestamp? {
    Int64(field.value.description).map { Timestamp(nanoseconds: $0) }
  }

  private static func selectedField(_ item: Field) -> SelectedField? {
    let bytes = item.value.bytes
    let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    guard HTTPField.isToken(name) else { return nil }
    return SelectedField(
      name: name, value: colon < bytes.endIndex ? Array(bytes[(colon + 1)...]) : nil)
  }
}
