import CacheFormat
import HTTPSemantics
import HTTPTransports
import MessageDigests

// Reading and writing whole objects.
extension TierServer {
  /// The status codes with which servers say that a PUT was stored.
  static let stored: Set<Int> = [200, 201, 202, 204]

  enum Fetched: Sendable {
    /// Its bytes, and its entity tag if there is one.
    case bytes([UInt8], tag: String?)
    /// It has not changed since the one with the tag of the request.
    case unchanged
    case absent
  }

  /// Gets a document, and records the result.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - use: The use, for which the result is recorded.
  ///   - tag: The entity tag of the one that is known.
  ///   - admission: The admission of a request that was let through already.
  func document(
    _ name: ObjectName, use: Use = .reading, unless tag: String? = nil,
    as admission: Admission? = nil
  ) async throws(RemoteReason) -> Fetched {
    let (fetched, admission) = try await unrecorded(name, use: use, unless: tag, as: admission)
    admission.record(nil)
    return fetched
  }

  /// Gets a document; the caller must record the result with the admission. A failure is recorded.
  func unrecorded(
    _ name: ObjectName, use: Use = .reading, unless tag: String? = nil,
    as admission: Admission? = nil
  ) async throws(RemoteReason) -> (Fetched, Admission) {
    // A cache in front of the server must not hide a purge.
    var fields = [HTTPField("Accept", "application/json"), HTTPField("Cache-Control", "no-cache")]
    if let tag { fields.append(HTTPField("If-None-Match", tag)) }
    let (response, admission) = try await send(use, "GET", name.path, fields: fields, as: admission)
    do throws(RemoteReason) {
      let fetched = try await read(response, hasTag: tag != nil)
      admission.end()
      return (fetched, admission)
    } catch {
      admission.finish(error)
      throw error
    }
  }

  private func read(
    _ response: TransportResponse, hasTag: Bool
  ) async throws(RemoteReason) -> Fetched {
    switch response.head.status {
    case 200:
      let tag = response.head.fields.first(named: "ETag")?.text
      return .bytes(try await wholeBody(response), tag: tag)
    case 304 where hasTag:
      await response.body.end(within: 0)
      return .unchanged
    case 404, 410:
      await response.body.end(within: 16 << 10)
      return .absent
    default:
      await response.body.end(within: 16 << 10)
      throw .serverError
    }
  }

  private func wholeBody(_ response: TransportResponse) async throws(RemoteReason) -> [UInt8] {
    let limit = SharedDocument.maximumBytes
    if let length = response.head.fields.contentLength, length > UInt64(limit) {
      response.body.cancel()
      throw .badDocument
    }
    var bytes: [UInt8] = []
    do throws(TransportError) {
      while bytes.count <= limit, let piece = try await response.body.next() {
        if bytes.isEmpty { bytes = piece } else { bytes += piece }
      }
    } catch {
      throw RemoteReason(error)
    }
    guard bytes.count <= limit else {
      response.body.cancel()
      throw .badDocument
    }
    return bytes
  }

  enum Presence: Sendable {
    /// An object of the right length, or of one that the server does not tell.
    case whole
    case otherLength
    case absent
  }

  /// Asks for the state of a body with HEAD.
  func presence(of name: ObjectName, length: UInt64) async throws(RemoteReason) -> Presence {
    let (response, admission) = try await send(.writing, "HEAD", name.path)
    await response.body.end(within: 0)
    admission.finish(nil)
    guard response.head.status == 200 else { return .absent }
    return response.head.fields.contentLength ?? length == length ? .whole : .otherLength
  }

  /// Puts an object. After 409 the folders are made, and it is put once more.
  ///
  /// - Parameters:
  ///   - condition: `If-None-Match: *` or `If-Match`; servers may ignore it.
  ///   - body: Returns the body, each time it is sent.
  /// - Returns: the status: 200, 201, 202 or 204 if it was taken, 409 if another writer is at it, 412 if
  ///   the condition does not hold. Any other is a failure of the server, which is recorded: a wrong
  ///   folder or bucket must not get body after body.
  func put(
    _ name: ObjectName, length: UInt64, digest: [UInt8], condition: HTTPField?,
    body: () -> RequestBody?
  ) async throws(RemoteReason) -> Int {
    let kind = name.kind == .document ? "application/json" : "application/octet-stream"
    let fields = [HTTPField("Content-Type", kind)] + (condition.map { [$0] } ?? [])
    var hasFolders = false
    while true {
      guard let body = body() else { throw .notStored }
      let (response, admission) = try await send(
        .writing, "PUT", name.path, fields: fields, body: body, bodyDigest: digest, bytes: length)
      await response.body.end(within: 16 << 10)
      let status = response.head.status
      let isUsual = Self.stored.contains(status) || status == 409 || status == 412
      admission.finish(isUsual ? nil : .serverError)
      guard status == 409, !hasFolders else { return status }
      try await makeFolders()
      hasFolders = true
    }
  }

  /// Puts short bytes as ``put(_:length:digest:condition:body:)`` does.
  func put(
    _ name: ObjectName, _ bytes: [UInt8], condition: HTTPField?
  ) async throws(RemoteReason) -> Int {
    try await put(
      name, length: UInt64(bytes.count), digest: MessageDigest.of(bytes, .sha256),
      condition: condition
    ) { .bytes(bytes) }
  }

  /// Creates the folders of the server (WebDAV, RFC 4918, section 9.3), which some servers want
  /// before the first PUT.
  private func makeFolders() async throws(RemoteReason) {
    if case .s3 = server.access { return }
    for path in ["", "\(ObjectName.Kind.body.rawValue)/", "\(ObjectName.Kind.document.rawValue)/"] {
      let (response, admission) = try await send(.writing, "MKCOL", path)
      await response.body.end(within: 16 << 10)
      admission.finish(nil)
    }
  }

  /// Removes an object, for ``RemoteCheck``; servers may not allow it. It is tried even if the server
  /// has refused or failed uploads.
  func remove(_ name: ObjectName) async throws(RemoteReason) {
    let (response, _) = try await send(.writing, "DELETE", name.path, as: uncounted)
    await response.body.end(within: 16 << 10)
  }
}
