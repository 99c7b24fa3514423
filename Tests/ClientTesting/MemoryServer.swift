import CacheFormat
import Foundation
import MessageDigests
package import Synchronization

/// A server in memory, as a transport: plain storage, or one that follows the rules of
/// bazel-remote.
package final class MemoryServer: HTTPTransport {
  /// What goes wrong with a request.
  package enum Fault: Sendable {
    case status(Int)
    case failure(TransportError.Code)
    /// The body of the answer is changed.
    case change(@Sendable ([UInt8]) -> [UInt8])
    /// The body of the answer ends with an error after so many bytes.
    case cut(Int)
    /// The server says that it has stored the object, and has not.
    case forget
    /// The answer waits for a gate.
    case hold(Gate)
  }

  package struct Object: Sendable {
    package var bytes: [UInt8]
    package var version: UInt64

    package init(bytes: [UInt8], version: UInt64) {
      (self.bytes, self.version) = (bytes, version)
    }
  }

  package struct State {
    package var objects: [String: Object] = [:]
    var version: UInt64 = 0
    var requests: [HTTPRequest] = []
    var fault: @Sendable (HTTPRequest) -> Fault? = { _ in nil }
  }

  let isBazel: Bool
  let hasTags: Bool
  let keepsRequests: Bool
  package let state = Mutex(State())

  package init(isBazel: Bool = false, hasTags: Bool = true, keepsRequests: Bool = true) {
    (self.isBazel, self.hasTags, self.keepsRequests) = (isBazel, hasTags, keepsRequests)
  }

  package var objects: [String: Object] { state.withLock { $0.objects } }
  package var requests: [HTTPRequest] { state.withLock { $0.requests } }

  /// The methods and folders of the requests, such as `PUT cas`.
  package var log: [String] {
    requests.map {
      "\($0.method) \($0.url.target.split(separator: "/").dropLast().last ?? "")"
    }
  }

  package func setFault(_ fault: @escaping @Sendable (HTTPRequest) -> Fault?) {
    state.withLock { $0.fault = fault }
  }

  /// Changes the stored objects of a folder.
  package func change(_ folder: String, _ change: ([UInt8]) -> [UInt8]?) {
    state.withLock { state in
      for (path, object) in state.objects where path.contains("/\(folder)/") {
        state.objects[path] = change(object.bytes).map {
          Object(bytes: $0, version: object.version + 1)
        }
      }
    }
  }

  package func clearLog() { state.withLock { $0.requests = [] } }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    let url = request.url.string
    var sent: [UInt8] = []
    if let body { sent = try await body.read(url: url) }
    let fault = state.withLock { state in
      if keepsRequests { state.requests.append(request) }
      return state.fault(request)
    }
    switch fault {
    case .status(let status): return response(request, status, [])
    case .failure(let code): throw TransportError(code, url: url)
    case .forget: return response(request, 200, [])
    case .change(let change):
      let (status, bytes, tag) = answer(request, sent)
      return response(request, status, change(bytes), tag: tag)
    case .cut(let count):
      let (status, bytes, tag) = answer(request, sent)
      return response(
        request, status, Array(bytes.prefix(count)), tag: tag, end: .truncatedBody)
    case .hold(let gate):
      _ = await gate.pass()
    case nil: break
    }
    let (status, bytes, tag) = answer(request, sent)
    return response(request, status, bytes, tag: tag)
  }

  /// Makes an answer whose body comes in two pieces.
  private func response(
    _ request: HTTPRequest, _ status: Int, _ bytes: [UInt8], tag: String? = nil,
    end: TransportError.Code? = nil
  ) -> TransportResponse {
    var fields: HTTPFields = []
    if let tag, hasTags { fields.append(HTTPField("ETag", tag)) }
    let isHead = request.method == .head
    if isHead { fields.append(HTTPField("Content-Length", "\(bytes.count)")) }
    let half = bytes.count / 2
    let pieces: [[UInt8]] = [Array(bytes[..<half]), Array(bytes[half...])].filter { !$0.isEmpty }
    var answer = ScriptedTransport.Answer(pieces)
    answer.end = end
    return TransportResponse(
      head: HTTPResponseHead(status: status, fields: fields), url: request.url,
      body: ScriptedBody(answer, url: request.url.string, isEmpty: isHead))
  }

  private func answer(
    _ request: HTTPRequest, _ sent: [UInt8]
  ) -> (status: Int, body: [UInt8], tag: String?) {
    state.withLock { state in
      let path = request.url.host + request.url.target
      let object = state.objects[path]
      let tag = object.map { "\"\($0.version)\"" }
      switch request.method.rawValue {
      case "PUT":
        if isBazel, path.contains("/cas/"),
          !path.hasSuffix(MessageDigest.of(sent, .sha256).hexadecimal)
        {
          return (400, [], nil)
        }
        if !isBazel, !conditionHolds(request, tag) { return (412, [], tag) }
        state.version += 1
        state.objects[path] = Object(bytes: sent, version: state.version)
        return (object == nil ? 201 : 204, [], nil)
      case "DELETE":
        state.objects[path] = nil
        return (204, [], nil)
      case "GET", "HEAD":
        guard let object else { return (404, Array("not here".utf8), nil) }
        if isBazel, path.contains("/ac/"), !hasAllBodies(object.bytes, path, state) {
          return (404, [], nil)
        }
        if hasTags, request.fields.first(named: "If-None-Match")?.text == tag {
          return (304, [], tag)
        }
        return (200, object.bytes, tag)
      default: return (405, [], nil)
      }
    }
  }

  private func conditionHolds(_ request: HTTPRequest, _ tag: String?) -> Bool {
    if let wanted = request.fields.first(named: "If-Match")?.text { return wanted == tag }
    return !request.fields.contains("If-None-Match") || tag == nil
  }

  private func hasAllBodies(_ document: [UInt8], _ path: String, _ state: State) -> Bool {
    let text = String(decoding: document, as: UTF8.self)
    let base = path.prefix(upTo: path.range(of: "/ac/")!.lowerBound)
    return text.split(separator: "\"hash\":\"").dropFirst().allSatisfy {
      state.objects["\(base)/cas/\($0.prefix(64))"] != nil
    }
  }
}
