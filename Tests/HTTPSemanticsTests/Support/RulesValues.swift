import HTTPSemantics

/// The time at which the responses of these tests are received.
let received = HTTPDate(seconds: 1_800_000_000)

/// Writes a time as seconds from ``received`` in the form that fields have.
func date(_ seconds: Int64) -> String {
  later(seconds).description
}

/// Returns the time so many seconds after ``received``.
func later(_ seconds: Int64) -> HTTPDate {
  HTTPDate(seconds: received.seconds + seconds)
}

/// Makes a response that was received at ``received``, `delay` seconds after it was asked for.
func stored(
  _ fields: HTTPFields, status: Int = 200, rules: CacheRules = CacheRules(), delay: Int64 = 0
) -> StoredResponse {
  StoredResponse(
    status: status, fields: fields, requestTime: later(-delay), responseTime: received,
    selection: .none, rules: rules)
}

/// Makes fields with one line of `Cache-Control`.
func cacheControl(_ value: String) -> HTTPFields {
  [HTTPField("Cache-Control", value)]
}

/// Reads the directives of a request with one line of `Cache-Control`.
func asking(_ value: String) -> RequestDirectives {
  RequestDirectives(cacheControl(value))
}

extension CacheRules {
  static let shared = CacheRules(role: .sharedCache)

  /// The rules of a reverse proxy.
  static let reverse: CacheRules = {
    var rules = shared
    rules.targetedFields = fieldsForCDNs
    return rules
  }()
}
