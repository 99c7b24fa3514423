import CacheClient
import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import HTTPTransports

struct ClientBackend: ProxyBackend {
  private let client: CachingClient
  private let policy: CachePolicy

  /// - Parameter isOffline: Whether answers come only from the store.
  init(_ client: CachingClient, isOffline: Bool) {
    self.client = client
    policy = isOffline ? .offline : .protocolRules
  }

  func storedAnswer(to request: HTTPRequest) -> ProxyAnswer? {
    var options = options()
    // This request lacks the fields about the client, which the origin of a reverse proxy gets with
    // each request. `answer` has them.
    options.validatesAtOnce = false
    return client.storedAnswer(to: request, options: options).map { ProxyAnswer($0) }
  }

  func answer(
    _ request: HTTPRequest, body: RequestBody?,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async -> ProxyAnswer {
    do throws(ClientError) {
      return ProxyAnswer(try await client.fetch(request, body: body, options: options(onInterim)))
    } catch {
      return failure(error)
    }
  }

  /// Returns the options of a proxy: content codings are not decoded, and redirects are not
  /// followed.
  private func options(_ onInterim: (@Sendable (HTTPResponseHead) -> Void)? = nil) -> FetchOptions {
    FetchOptions(policy: policy, decodesContent: false, maximumRedirects: 0, onInterim: onInterim)
  }

  private func failure(_ error: ClientError) -> ProxyAnswer {
    var status = CacheStatus(cacheName: client.options.cacheName)
    status.detail = error.statusDetail
    let code: Int
    switch error.cause {
    case .notStored: code = 504
    case .transport(let failure):
      code = Self.status(of: failure.code)
      status.forward = .miss
    case .store, .coding, .tooManyRedirects, .tooLarge: code = 500
    }
    return OwnAnswers.text(code, "\(code): \(error)", cacheStatus: status)
  }

  /// Returns the status for a failed transfer (RFC 9110, sections 15.6.3 and 15.6.5).
  private static func status(of code: TransportError.Code) -> Int {
    switch code {
    case .timeout: 504
    case .invalidRequest, .requestBodyFailed: 400
    default: 502
    }
  }
}

extension ClientError {
  var statusDetail: String {
    switch cause {
    case .notStored(let reason): "not-stored: \(reason)"
    case .transport(let failure): "origin-\(failure.code.rawValue)"
    case .store, .coding, .tooManyRedirects, .tooLarge: "failed"
    }
  }
}

extension ProxyAnswer {
  init(_ response: ClientResponse) {
    let body = response.body
    let source: AnswerSource =
      switch response.source {
      case .memory: .memory
      case .disk: .disk
      case .substitute: .substitute
      case .network: .network
      }
    let content: AnswerBody =
      switch body.content {
      case .bytes(let bytes): .bytes(bytes)
      case .file(let reader, let range):
        if let descriptor = reader.descriptor {
          .file(
            descriptor: descriptor, offset: range.lowerBound,
            length: range.upperBound - range.lowerBound, owner: reader)
        } else {
          .stream(length: range.upperBound - range.lowerBound, body)
        }
      case .stream(let length): .stream(length: length, body)
      }
    self.init(head: response.head, body: content, source: source, cacheStatus: response.cacheStatus)
    reason =
      response.originError.map { "the server could not be reached: \($0.cause)" }
      ?? response.reason?.description ?? ""
    if let entry = response.entry, entry.status == 200, [200, 304].contains(head.status) {
      representationLength = entry.length
    } else if [200, 304].contains(head.status) {
      representationLength = response.substituteLength
    }
  }
}

extension ResponseBody: AnswerPieces {}
