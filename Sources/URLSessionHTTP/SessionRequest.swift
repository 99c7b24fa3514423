import Foundation
import HTTPSemantics
import HTTPTransports

/// Translates a request to Foundation's. All fields that URLSession would add are set here, because
/// `Vary` selects by what is sent.
enum SessionRequest {
  /// The fields that URLSession sets itself. `Expect` would delay the body forever at some servers.
  private static let ownFields: Set<String> = [
    "content-length", "transfer-encoding", "expect", "host",
  ]
  /// A week, in seconds: the time limits are those of `SessionTask`.
  static let timeoutInterval = 604_800.0
  /// The codings that URLSession decodes on every platform.
  static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br"]

  /// Returns the request for URLSession.
  ///
  /// - Throws: `invalidRequest` for what HTTP or URLSession cannot send.
  static func make(
    _ request: HTTPRequest, _ body: RequestBody?, _ setup: NetworkSetup
  ) throws(TransportError) -> URLRequest {
    func refuse(_ fault: String) -> TransportError {
      TransportError(.invalidRequest, url: request.url.string, detail: fault)
    }
    if let fault = RequestCheck.fault(in: request, body) { throw refuse(fault) }
    if request.method == .get, body.hasContent { throw refuse("URLSession sends no body with GET") }
    if RequestCheck.logsConnectionIn(request.fields) {
      throw refuse("its Authorization logs a connection in, which URLSession would use again")
    }
    guard let url = URL(string: request.url.string), url.absoluteString == request.url.string else {
      throw refuse("Foundation does not accept the URL")
    }
    var made = URLRequest(
      url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: timeoutInterval)
    made.httpMethod = request.method.rawValue
    made.httpShouldHandleCookies = setup.keepsCookies && !request.fields.contains("Cookie")
    for field in request.fields where !ownFields.contains(field.name.lowercased()) {
      // Joined by hand, because Foundation joins cookies with a comma, too.
      guard let value = String(validating: field.value, as: UTF8.self) else {
        throw refuse("the field \(field.name) is not UTF-8")
      }
      let before = made.value(forHTTPHeaderField: field.name)
      let separator = field.isNamed("Cookie") ? "; " : ", "
      made.setValue(
        before.map { $0 + separator + value } ?? value, forHTTPHeaderField: field.name)
    }
    if request.namesAnotherHost, let stated = request.fields.first(named: "Host")?.text {
      made.setValue(stated, forHTTPHeaderField: "Host")
    }
    setDefaults(&made, request, body, setup)
    return made
  }

  /// Sets the fields that URLSession would otherwise set to values that a cache does not know.
  private static func setDefaults(
    _ made: inout URLRequest, _ request: HTTPRequest, _ body: RequestBody?, _ setup: NetworkSetup
  ) {
    made.setValue(codings(request.fields), forHTTPHeaderField: "Accept-Encoding")
    var defaults = ["User-Agent": setup.userAgent, "Accept": "*/*"]
    #if canImport(Darwin)
      defaults["Accept-Language"] = "*"
    #endif
    if body != nil { defaults["Content-Type"] = "application/octet-stream" }
    for (name, value) in defaults where !request.fields.contains(name) {
      made.setValue(value, forHTTPHeaderField: name)
    }
    if case .stream(let length?, _) = body {
      made.setValue(String(length), forHTTPHeaderField: "Content-Length")
    }
  }

  /// The codings to ask for: those of the request that URLSession decodes everywhere. A part is never
  /// asked for in a coding, because a part of coded bytes cannot be decoded.
  private static func codings(_ fields: HTTPFields) -> String {
    guard !fields.contains("Range") else { return "identity" }
    let kept = ListSyntax.members(of: "Accept-Encoding", in: fields).filter { member in
      let name = member.prefix { $0 != ";" && $0 != " " }.lowercased()
      return name == "identity" || decodedCodings.contains(name)
    }
    return kept.isEmpty ? "identity" : kept.joined(separator: ", ")
  }
}
