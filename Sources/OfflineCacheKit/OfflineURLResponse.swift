/// An `HTTPURLResponse` with information about its source, its age and the reason for its use.
///
/// Fields of one name are joined with `, `, as in Foundation. The fields describe the data: if a
/// content coding was removed, `Content-Encoding` and `Content-Length` are removed, too.
public final class OfflineURLResponse: HTTPURLResponse, @unchecked Sendable {
  // Unchecked, as the superclass is; the added property never changes.

  /// The information about the source, or `nil` for a response that was read from an archive, or
  /// passed to the delegate.
  public let metadata: ResponseMetadata?

  private init?(url: URL, head: HTTPResponseHead, metadata: ResponseMetadata?) {
    self.metadata = metadata
    super.init(
      url: url, statusCode: head.status, httpVersion: "HTTP/1.1",
      headerFields: Self.dictionary(head.fields))
  }

  #if canImport(Darwin)
    public override class var supportsSecureCoding: Bool { true }
  #endif

  /// Creates a response from an archive, without metadata.
  public required init?(coder: NSCoder) {
    metadata = nil
    super.init(coder: coder)
  }

  /// Creates the response to a request.
  ///
  /// Its URL is exactly the caller's if no redirect was followed, because programs compare the two.
  static func make(
    _ response: ClientResponse, to asked: AskedRequest, standIn: StandIn? = nil
  ) -> OfflineURLResponse? {
    let isOwn = response.url == asked.request.url && !asked.hasCredentials
    guard let url = isOwn ? asked.url : URL(string: response.url.string) else { return nil }
    return OfflineURLResponse(
      url: url, head: response.head, metadata: ResponseMetadata(response, standIn: standIn))
  }

  /// Creates the response for a downloaded file; `now` is in nanoseconds since 1970.
  static func make(
    _ file: DownloadedFile, to asked: AskedRequest, now: Int64, standIn: StandIn?
  ) -> OfflineURLResponse? {
    let isOwn = file.record.answeredBy == asked.request.url.string && !asked.hasCredentials
    guard let url = isOwn ? asked.url : URL(string: file.record.answeredBy) else { return nil }
    return OfflineURLResponse(
      url: url, head: file.record.head,
      metadata: ResponseMetadata(file, now: now, standIn: standIn))
  }

  static func plain(_ head: HTTPResponseHead, url: URL) -> OfflineURLResponse? {
    OfflineURLResponse(url: url, head: head, metadata: nil)
  }

  /// Returns the same response with the metadata of the file that it was written to.
  func written(to file: DownloadedFile, _ head: HTTPResponseHead) -> OfflineURLResponse {
    guard let url, var metadata else { return self }
    metadata.download = DownloadMetadata(file)
    return OfflineURLResponse(url: url, head: head, metadata: metadata) ?? self
  }

  func without(_ names: [String]) -> OfflineURLResponse {
    var head = HTTPResponseHead(status: statusCode)
    for (name, value) in allHeaderFields {
      guard let name = name as? String, let value = value as? String,
        !names.contains(where: { $0.lowercased() == name.lowercased() })
      else { continue }
      head.fields.append(HTTPField(name, value))
    }
    guard let url else { return self }
    return OfflineURLResponse(url: url, head: head, metadata: metadata) ?? self
  }

  private static func dictionary(_ fields: HTTPFields) -> [String: String] {
    var result: [String: String] = [:]
    result.reserveCapacity(fields.count)
    for (place, field) in fields.enumerated() {
      // A field name may be spelled in several ways: the first spelling is used.
      if let name = fields.prefix(place).first(where: { field.isNamed($0.name) })?.name {
        result[name] = "\(result[name] ?? ""), \(field.text)"
      } else {
        result[field.name] = field.isNamed("Location") ? field.reference : field.text
      }
    }
    return result
  }
}
