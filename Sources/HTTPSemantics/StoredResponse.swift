/// A response in a cache, with the data that decides whether it may answer a request.
public struct StoredResponse: Sendable {
  /// The status code.
  public let status: Int
  /// The stored fields, see ``CacheRules/fieldsToStore(_:receivedAt:)``.
  public let fields: HTTPFields
  /// The time at which the request for the response was sent, by the clock of this cache.
  public let requestTime: HTTPDate
  /// The time at which the response was received, by the clock of this cache.
  public let responseTime: HTTPDate
  /// The requests that the response may answer.
  public let selection: Selection
  /// Whether the request had `Cookie` or `Authorization`, so that the response may be meant for one
  /// user.
  public let isPersonal: Bool
  /// Whether the request had a field that may be a credential, such as `X-Api-Key`. Other machines get
  /// the response only if its fields say that users may share it.
  package let mayBePersonal: Bool
  /// The stored part of the representation; `nil` unless the status is 206.
  public let contentRange: ContentRange?
  /// The `Date` of the message that had the bytes; `nil` if it had none. That of a later 304 does not
  /// say when the bytes were made (RFC 9110, section 8.8.2.2).
  public let bodyDate: HTTPDate?
  /// Whether the origin is known to have another response by now, so that this one is stale.
  public let isOutdated: Bool
  /// The meaning of the fields.
  public let facts: ResponseFacts

  /// Creates a response and parses its fields.
  ///
  /// - Complexity: O(*n*) in the number of fields and the bytes of those that matter.
  public init(
    status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate,
    selection: Selection, isPersonal: Bool = false, mayBePersonal: Bool = false,
    bodyDate: HTTPDate? = nil, isOutdated: Bool = false, rules: CacheRules
  ) {
    self.status = status
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.selection = selection
    self.isPersonal = isPersonal
    self.mayBePersonal = mayBePersonal
    self.bodyDate = bodyDate
    self.isOutdated = isOutdated
    contentRange = status == 206 ? ContentRange(of: fields) : nil
    facts = ResponseFacts(fields, rules: rules, now: responseTime)
  }
}
