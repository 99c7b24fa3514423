package import CacheFormat
import HTTPSemantics
import HTTPTransports

/// A response that a look-up has found.
package struct RemoteFinding: Sendable {
  /// The response.
  package let response: SharedResponse
  /// Its body, which is the right one only once it has been read to its end.
  package let body: RemoteBody
}

extension RemoteCache {
  /// The time within which a purge list must have been read for a document to be used.
  package static let purgeAge: Int64 = 5_000_000_000

  /// Looks a response up.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - choose: Returns the index of the response to use, or the reason why none can be used.
  /// - Throws: the reason why there is none, which is also counted.
  package func lookUp(
    _ key: ByteString,
    choose: @Sendable ([SharedResponse]) -> Result<Int, RemoteReason>
  ) async throws(RemoteReason) -> RemoteFinding {
    do throws(RemoteReason) {
      return try await find(key, choose)
    } catch {
      count { $0.misses[error, default: 0] += 1 }
      throw error
    }
  }

  private func find(
    _ key: ByteString, _ choose: @Sendable ([SharedResponse]) -> Result<Int, RemoteReason>
  ) async throws(RemoteReason) -> RemoteFinding {
    guard options.mode.reads else { throw .mode }
    if blocked.contains(key) { throw .purged }
    let name = name(of: key)
    if absent.contains(name, at: clock.monotonic()) { throw .absent }
    let server = try server(for: name, .reading)
    try await purges.refresh(within: Self.purgeAge)
    let document: SharedDocument
    switch try await server.document(name) {
    case .bytes(let bytes, _):
      do throws(RemoteReason) {
        document = try self.document(bytes, of: key)
      } catch {
        // It would be the same one in the next seconds.
        absent.note(name, at: clock.monotonic())
        throw error
      }
    case .absent, .unchanged:
      absent.note(name, at: clock.monotonic())
      throw .absent
    }
    return try await finding(in: document, name, server, choose)
  }

  private func finding(
    in document: SharedDocument, _ name: ObjectName, _ server: TierServer,
    _ choose: @Sendable ([SharedResponse]) -> Result<Int, RemoteReason>
  ) async throws(RemoteReason) -> RemoteFinding {
    let list = purges.list
    let valid = document.responses.filter {
      !list.covers(document.key, tags: $0.tags, generation: document.generation)
    }
    guard !valid.isEmpty || document.responses.isEmpty else { throw .purged }
    let response = valid[try choose(valid).get()]
    guard response.length <= options.maximumBodyBytes else { throw .tooLarge }
    let transfer =
      response.inlineBody == nil ? try await open(response, document.key, name, server) : nil
    let body = RemoteBody(response, of: document.key, from: transfer) { [weak self] reason, bytes in
      guard let self else { return }
      if reason == .wrongBytes { absent.note(name, at: clock.monotonic()) }
      count { numbers in
        if let reason {
          numbers.misses[reason, default: 0] += 1
        } else {
          numbers.hits += 1
          numbers.bytesRead += bytes
        }
      }
    }
    return RemoteFinding(response: response, body: body)
  }

  /// Opens the body of a response.
  private func open(
    _ response: SharedResponse, _ key: ByteString, _ name: ObjectName, _ server: TierServer
  ) async throws(RemoteReason) -> (TierServer, any TransportBody) {
    let answer = try await server.send(
      .reading, "GET", ObjectName.body(response.bodyDigest).path, bytes: response.length)
    switch answer.head.status {
    case 200:
      // A wrong length is known before the body.
      guard answer.head.fields.contentLength.map({ $0 == response.length }) ?? true else {
        answer.body.cancel()
        server.finish(.reading, .wrongBytes)
        server.reportWrongBytes(of: key)
        throw .wrongBytes
      }
      return (server, answer.body)
    case 404, 410:
      await answer.body.end(within: 16 << 10)
      server.finish(.reading, nil)
      absent.note(name, at: clock.monotonic())
      throw .bodyGone
    default:
      await answer.body.end(within: 16 << 10)
      server.finish(.reading, .serverError)
      throw .serverError
    }
  }
}
