package import HTTPSemantics

/// Checks that a request has only one meaning when it is sent.
package enum RequestCheck {
  /// Returns the problem with a request, or `nil` if it can be sent.
  package static func fault(in request: HTTPRequest, _ body: RequestBody?) -> String? {
    guard HTTPField.isToken(request.method.rawValue) else { return "the method is no token" }
    guard request.method.rawValue != "CONNECT" else { return "CONNECT asks for a tunnel" }
    guard request.fields.allSatisfy(\.isValid) else { return "a field has an illegal character" }
    guard request.fields.all(named: "Host").count <= 1 else { return "there are two Host fields" }
    return body.flatMap { fault(in: $0, of: request.method) }
  }

  /// Returns whether the request waits for the server's consent before its body is sent (RFC 9110,
  /// section 10.1.1).
  package static func expectsContinue(_ fields: HTTPFields) -> Bool {
    fields.contains { $0.isNamed("Expect") && $0.text.lowercased() == "100-continue" }
  }

  /// Returns whether a request may log its connection in, as with NTLM. The server would take the next
  /// request on that connection for one of the same user, so there must be none.
  package static func logsConnectionIn(_ fields: HTTPFields) -> Bool {
    guard let value = fields.first(named: "Authorization")?.text.lowercased() else { return false }
    return ["ntlm", "negotiate", "kerberos", "nego2"].contains { value.hasPrefix($0) }
  }

  private static func fault(in body: RequestBody, of method: HTTPMethod) -> String? {
    switch body {
    case .bytes(let bytes) where bytes.isEmpty: return nil
    case .stream(let length?, _) where length > UInt64(Int64.max):
      return "the length of its body is beyond 2^63 - 1"
    default:
      // RFC 9110, sections 9.3.2 and 9.3.8: neither has content.
      guard ["HEAD", "TRACE"].contains(method.rawValue) else { return nil }
      return "\(method.rawValue) has no body"
    }
  }
}
