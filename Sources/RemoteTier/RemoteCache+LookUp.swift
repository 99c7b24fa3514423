package import CacheFormat
import HTTPSemantics
import HTTPTransports

/// A response that a look-up has found.
package struct RemoteFinding: Sendable {
  package let response: SharedResponse
  /// Its body, which is the right one only once it has been read to its end.
  package let body: RemoteBody
}

extension RemoteCache {
  /// The time within which a purge list must have been read for a document to be used.
  static let purgeAge: Int64 = 5_000_000_000

  /// Returns why a key would not be looked up now, and counts that; `nil` if it would.
  package func refusal(of key: ByteString) -> RemoteReason? {
    do throws(RemoteReason) {
      _ = try server(of: key)
      return nil
    } catch {
      count { $0.misses[error, default: 0] += 1 }
      return error
    }
  }

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
    let (name, server) = try server(of: key)
    try await purges.refresh(within: Self.purgeAge)
    let (fetched, admission) = try await server.unrecorded(name)
    switch fetched {
    case .bytes(let bytes, _):
      let response: SharedResponse
      do throws(RemoteReason) {
        response = try self.response(in: bytes, of: key, name, choose)
      } catch {
        admission.record(nil)
        throw error
      }
      // The result of a look-up is its body: otherwise a server that has documents, and hangs in
      // each body, would fail every second time only.
      if response.inlineBody != nil { admission.record(nil) }
      return try await finding(response, of: key, name, server)
    case .absent, .unchanged:
      admission.record(nil)
      absent.note(name, at: clock.monotonic())
      throw .absent
    }
  }

  /// Returns the name of the document of a key, and the server to ask for it.
  private func server(of key: ByteString) throws(RemoteReason) -> (ObjectName, TierServer) {
    guard options.mode.reads else { throw .mode }
    let name = name(of: key)
    if blocked.contains(name) { throw .purged }
    if absent.contains(name, at: clock.monotonic()) { throw .absent }
    return (name, try server(for: name, .reading))
  }

  /// Returns the response to use of a document.
  private func response(
    in bytes: [UInt8], of key: ByteString, _ name: ObjectName,
    _ choose: @Sendable ([SharedResponse]) -> Result<Int, RemoteReason>
  ) throws(RemoteReason) -> SharedResponse {
    let document: SharedDocument
    do throws(RemoteReason) {
      document = try self.document(bytes, of: key)
    } catch {
      // It would be the same one in the next seconds.
      absent.note(name, at: clock.monotonic())
      throw error
    }
    let list = purges.list
    let valid = document.responses.filter {
      !list.covers(key, tags: $0.form.tags, generation: document.generation)
    }
    guard !valid.isEmpty || document.responses.isEmpty else { throw .purged }
    let response = valid[try choose(valid).get()]
    guard response.length <= options.maximumBodyBytes else { throw .tooLarge }
    return response
  }

  private func finding(
    _ response: SharedResponse, of key: ByteString, _ name: ObjectName, _ server: TierServer
  ) async throws(RemoteReason) -> RemoteFinding {
    let transfer = response.inlineBody == nil ? try await open(response, key, name, server) : nil
    let body = RemoteBody(response, of: key, from: transfer) { [weak self] reason, bytes in
      guard let self else { return }
      if reason == .wrongBytes {
        absent.note(name, at: clock.monotonic())
        noteDamaged(response.bodyDigest)
      }
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

  private func open(
    _ response: SharedResponse, _ key: ByteString, _ name: ObjectName, _ server: TierServer
  ) async throws(RemoteReason) -> (TierServer.Admission, any TransportBody) {
    let (answer, admission) = try await server.send(
      .reading, "GET", ObjectName.body(response.bodyDigest).path, bytes: response.length)
    switch answer.head.status {
    case 200:
      // A wrong length is known before the body.
      guard answer.head.fields.contentLength.map({ $0 == response.length }) ?? true else {
        answer.body.cancel()
        admission.finish(.wrongBytes)
        server.reportWrongBytes(of: key)
        noteDamaged(response.bodyDigest)
        throw .wrongBytes
      }
      return (admission, answer.body)
    case 404, 410:
      await answer.body.end(within: 16 << 10)
      admission.finish(nil)
      absent.note(name, at: clock.monotonic())
      throw .bodyGone
    default:
      await answer.body.end(within: 16 << 10)
      admission.finish(.serverError)
      throw .serverError
    }
  }
}
