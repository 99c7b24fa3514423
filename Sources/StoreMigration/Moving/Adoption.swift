internal import CacheFormat
internal import CacheStore
internal import HTTPCaching
internal import HTTPSemantics

/// The form in which the store adopts an entry of a source.
struct Adoption {
  let kept: KeptResponse
  let past: ImportedTimes
  /// Whether the time of the response is not known, because all times of the source lie in the future.
  let isOfFuture: Bool

  /// Creates it for the URL that the entry gets.
  ///
  /// - Parameter now: Taken for the time of the response if all times are later.
  init(_ entry: SourceEntry, row: Int64, _ format: SourceFormat, url: NormalizedURL, now: Timestamp)
  {
    let known = [entry.received, entry.created, entry.lastAccess].compactMap { $0 }
    // An entry without any time is older than all others, and stale.
    let usable = known.first { $0 <= now }
    let received = usable ?? (known.isEmpty ? Timestamp(nanoseconds: 0) : now)
    isOfFuture = usable == nil && !known.isEmpty
    var entry = entry
    if isOfFuture { entry.madeUp.insert(.time) }
    kept = KeptResponse(
      request: HTTPRequest(
        method: HTTPMethod(rawValue: entry.method), url: url, fields: entry.selectingFields),
      head: HTTPResponseHead(status: entry.status, fields: entry.storedFields),
      times: ResponseTimes(request: received, response: received), expires: entry.expires,
      userInfo: Self.userInfo(entry, row, format))
    past = ImportedTimes(created: entry.created, accessed: entry.lastAccess ?? received)
  }

  /// The name of the user info that says what the source does not have.
  private static let madeUpName = ByteString("source-made-up")

  /// Returns whether the time of an entry that was moved is not that of its response.
  static func hasMadeUpTime(_ info: EntryInfo) -> Bool {
    let text = info.userInfo.first { $0.name == madeUpName }?.value.bytes ?? []
    return text.split(separator: UInt8(ascii: " ")).contains { $0.elementsEqual("time".utf8) }
  }

  static let formatName = ByteString("source-format")

  /// Returns information about the source, and the user's own dictionary (Docs/Migrate.md, "What
  /// arrives").
  private static func userInfo(
    _ entry: SourceEntry, _ row: Int64, _ format: SourceFormat
  ) -> [Field] {
    var info = [
      Field(formatName, ByteString(format.rawValue)),
      Field(ByteString("source-row"), ByteString("\(row)")),
    ]
    // Without the credentials that the URL may have.
    if let text = entry.responseURL, let url = try? NormalizedURL(text),
      url != (try? NormalizedURL(entry.url))
    {
      info.append(Field(ByteString("source-response-url"), ByteString(url.string)))
    }
    if let partition = entry.partition {
      info.append(Field(ByteString("source-partition"), ByteString(partition)))
    }
    if !entry.madeUp.isEmpty {
      let names = SourceEntry.MadeUp.allCases.filter(entry.madeUp.contains).map(\.rawValue)
      info.append(Field(madeUpName, ByteString(names.joined(separator: " "))))
    }
    guard let own = entry.userInfo else { return info }
    info.append(Field(ByteString("source-user-info"), ByteString(own.json)))
    for pair in own.pairs ?? [] {
      // Items whose names are reserved are only in the whole dictionary.
      guard let name = pair.key.string, !name.isEmpty, !name.hasPrefix("source-"),
        !name.hasPrefix("http-")
      else { continue }
      info.append(Field(ByteString(name), pair.value.bytesOfItem))
    }
    return info
  }
}

extension PropertyListValue {
  /// The bytes of an item of user info: text and data unchanged, all other values as JSON.
  fileprivate var bytesOfItem: ByteString {
    switch self {
    case .string(let text): ByteString(text)
    case .data(let bytes): ByteString(bytes: bytes)
    default: ByteString(json)
    }
  }
}
