/// Holds a response in a cache: all that decides whether it may answer a request.
public struct StoredResponse: Sendable {
  /// Gives the status code.
  public let status: Int
  /// Gives the stored fields, see ``CacheRules/fieldsToStore(_:receivedAt:)``.
  public let fields: HTTPFields
  /// Gives when the request was sent that got the response, by the clock of this cache.
  public let requestTime: HTTPDate
  /// Gives when the response was received, by the clock of this cache.
  public let responseTime: HTTPDate
  /// Tells which requests the response may answer.
  public let selection: Selection
  /// Tells whether the request had `Cookie` or `Authorization`, so that the response may be meant for
  /// one user.
  public let isPersonal: Bool
  /// Gives which part of the representation is there; nil unless the status is 206.
  public let contentRange: ContentRange?
  /// Gives what the fields mean.
  public let facts: ResponseFacts

  /// Makes a response and reads its fields.
  ///
  /// - Complexity: O(*n*) in the number of fields and the bytes of those that matter.
  public init(
    status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate,
    selection: Selection, isPersonal: Bool = false, rules: CacheRules
  ) {
    self.status = status
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.selection = selection
    self.isPersonal = isPersonal
    contentRange = status == 206 ? ContentRange(of: fields) : nil
    facts = ResponseFacts(fields, rules: rules, now: responseTime)
  }
}
