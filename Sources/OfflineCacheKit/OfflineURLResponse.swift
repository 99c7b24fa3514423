import CacheClient
public import Foundation
import HTTPSemantics

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// An `HTTPURLResponse` that also tells where it came from, how old it is, and why.
///
/// Fields of one name are joined with `, `, as Foundation does it. The fields describe the data: where
/// a content coding was taken off, `Content-Encoding` and `Content-Length` are gone.
public final class OfflineURLResponse: HTTPURLResponse, @unchecked Sendable {
  // Unchecked as the superclass is; what is added never changes.

  /// Tells where it came from; nil for one that was read from an archive, or made for a question.
  public let metadata: ResponseMetadata?

  private init?(url: URL, head: HTTPResponseHead, metadata: ResponseMetadata?) {
    self.metadata = metadata
    super.init(
      url: url, statusCode: head.status, httpVersion: "HTTP/1.1",
      headerFields: Self.dictionary(head.fields))
  }

  /// Reads the superclass from an archive.
  public required init?(coder: NSCoder) {
    metadata = nil
    super.init(coder: coder)
  }

  /// Makes the response to a request.
  ///
  /// Its URL is the caller's own where no redirect was followed: programs compare the two.
  static func make(
    _ response: ClientResponse, to asked: AskedRequest, standIn: StandIn? = nil
  ) -> OfflineURLResponse? {
    let isOwn = response.url == asked.request.url && !asked.hasCredentials
    guard let url = isOwn ? asked.url : URL(string: response.url.string) else { return nil }
    return OfflineURLResponse(
      url: url, head: response.head, metadata: ResponseMetadata(response, standIn: standIn))
  }

  /// Makes the response to a request whose answer is in a file; the time is in nanoseconds since 1970.
  static func make(
    _ file: DownloadedFile, to asked: AskedRequest, now: Int64
  ) -> OfflineURLResponse? {
    let isOwn = file.record.answeredBy == asked.request.url.string && !asked.hasCredentials
    guard let url = isOwn ? asked.url : URL(string: file.record.answeredBy) else { return nil }
    return OfflineURLResponse(
      url: url, head: file.record.head, metadata: ResponseMetadata(file, now: now))
  }

  /// Makes a response without metadata.
  static func plain(_ head: HTTPResponseHead, url: URL) -> OfflineURLResponse? {
    OfflineURLResponse(url: url, head: head, metadata: nil)
  }

  /// Returns the same response, written to a file.
  func written(to file: DownloadedFile, _ head: HTTPResponseHead) -> OfflineURLResponse {
    guard let url, var metadata else { return self }
    metadata.download = DownloadMetadata(file)
    return OfflineURLResponse(url: url, head: head, metadata: metadata) ?? self
  }

  /// Returns the same response without some fields.
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
      // The names of one field may be spelled in several ways: the first counts.
      if let name = fields.prefix(place).first(where: { field.isNamed($0.name) })?.name {
        result[name] = "\(result[name] ?? ""), \(field.text)"
      } else {
        result[field.name] = field.text
      }
    }
    return result
  }
}
