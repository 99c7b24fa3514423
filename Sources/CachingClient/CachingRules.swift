import HTTPSemantics

/// Decides, without input or output, what the store may be asked and given.
///
/// This is the first cut: a stored answer is used until it is replaced. The rules of RFC 9111
/// (freshness, validation, Cache-Control, Vary, invalidation) come between request and store in
/// this place; nothing else in this module knows any rule. Until they do, whatever could make an
/// answer right for one request and wrong for another keeps it out.
enum CachingRules {
  /// Fields of a request by which servers choose, or withhold, an answer.
  private static let choosingFields = [
    "Authorization", "Cookie", "Range", "If-Range", "If-Match", "If-None-Match",
    "If-Modified-Since", "If-Unmodified-Since", "Accept-Encoding",
  ]

  /// Fields that are about one connection (RFC 9110, section 7.6.1), or about one user's session.
  private static let unstoredFields = [
    "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
    "Proxy-Authentication-Info", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
    "Upgrade", "Set-Cookie", "Set-Cookie2",
  ]

  /// Returns why the store has no part in a request; nil if it has.
  static func bypass(_ request: HTTPRequest) -> BypassReason? {
    guard request.method == .get else { return .method(request.method.rawValue) }
    return choosingFields.first { request.fields.contains($0) }.map { .field($0) }
  }

  /// Returns why an answer must not be stored; nil if it may be.
  static func mayStore(_ request: HTTPRequest, _ answer: AnswerFacts) -> NotStoredReason? {
    if let reason = bypass(request) { return .bypassed(reason) }
    guard answer.head.status == 200 else { return .status(answer.head.status) }
    if let field = varyingField(answer.head.fields, request) { return .varies(field: field) }
    return hasKnownEnd(answer) ? nil : .unknownEnd
  }

  /// Holds what the rules look at in an answer.
  struct AnswerFacts {
    /// The head as the server sent it.
    let head: HTTPResponseHead
    /// The version of HTTP.
    let version: String
    /// Whether a content coding is taken off by the transport.
    let isDecoded: Bool
  }

  /// Tells whether a body that was cut short would have been an error.
  ///
  /// A body that ends with its connection counts as complete (RFC 9112, section 8), and is stored.
  /// But libcurl also takes a coded one without complaint that lacks its end.
  private static func hasKnownEnd(_ answer: AnswerFacts) -> Bool {
    !answer.isDecoded || !answer.version.hasPrefix("1")
      || answer.head.fields.contains("Content-Length")
      || answer.head.fields.contains("Transfer-Encoding")
  }

  /// Returns why a stored answer must not be used; nil if it may be.
  static func mayUse(_ request: HTTPRequest, stored: HTTPResponseHead) -> FetchMissReason? {
    varyingField(stored.fields, request).map { .otherVariant(field: $0) }
  }

  /// Returns a field by which the answer was chosen and which the request has, or `*`.
  ///
  /// What is stored is always the answer to a request without these fields.
  private static func varyingField(_ fields: HTTPFields, _ request: HTTPRequest) -> String? {
    listMembers(of: "Vary", in: fields).first { $0 == "*" || request.fields.contains($0) }
  }

  /// Returns the fields that describe the bytes that a reader gets, once a coding is taken off.
  static func decoded(_ head: HTTPResponseHead) -> HTTPResponseHead {
    var head = head
    head.fields.removeAll(named: "Content-Encoding")
    head.fields.removeAll(named: "Content-Length")
    return head
  }

  /// Returns the fields of an answer that are stored.
  static func storedFields(_ fields: HTTPFields) -> HTTPFields {
    let unstored = unstoredFields + listMembers(of: "Connection", in: fields)
    return HTTPFields(fields.filter { field in !unstored.contains { field.isNamed($0) } })
  }

  /// Returns the members of a list field (RFC 9110, section 5.6.1); quoted strings do not occur in
  /// the fields that are asked for.
  private static func listMembers(of name: String, in fields: HTTPFields) -> [String] {
    fields.all(named: name).flatMap { $0.text.split { ",\t ".contains($0) }.map(String.init) }
  }
}
