/// Says what a case is worth: a rule of the RFC, a wise choice, or a mere observation.
enum CaseKind: String, Sendable, Hashable, CaseIterable {
  case required, optimal, check
}

/// Holds one case: what a client asks, what the origin answers, and what a cache between them does.
struct ConformanceCase: Sendable {
  var id: String
  var suite: String
  var kind: CaseKind
  /// Names the cases without which this one says nothing.
  var dependsOn: [String]
  /// Names the kinds of cache that the case is meant for: `shared`, `private`.
  var modes: Set<String>
  /// Says how many requests the origin must have seen at the end; nil: not checked.
  var originRequests: Int?
  /// Whether the cache may send a request of the case twice; in the public cases it may not.
  var mayRetry = false
  /// Whether the case is about what only a proxy does.
  var isProxyOnly = false
  var exchanges: [Exchange]
}

/// Holds a line of a field section; an integer stands for a date, in seconds from now.
struct FieldLine: Sendable, Hashable {
  enum Value: Sendable, Hashable {
    case text(String)
    case secondsFromNow(Int)
  }

  var name: String
  var value: Value
  /// Whether the line has to reach the client as the origin sent it.
  var isRecorded = true
}

/// Holds one request of a case with its answer and what is expected of both.
struct Exchange: Sendable {
  // What the client sends.
  var method = "GET"
  var requestFields: [FieldLine] = []
  var requestBody: String?
  var filename: String?
  var query: String?
  /// Whether the request is made as by `fetch(url, {cache: "no-cache"})`.
  var isReload = false
  /// Whether dates of the request count from the time of the answer before.
  var datesFollowAnswer = false
  var rfc850Fields: Set<String> = []
  /// How long the client waits after the answer.
  var pauseAfter = 0

  // What the origin answers.
  var status: Int?
  var responseFields: [FieldLine] = []
  var body: String?
  var interim: [InterimAnswer] = []
  var disconnects = false
  /// How long the origin takes for its answer.
  var originPause = 0
  /// Whether Location and Content-Location are relative to the URL of the case.
  var hasRelativeLocations = false

  // What is expected.
  var expected = Expectation()
  /// Whether a failed check only says that the case could not be set up.
  var isSetup = false
  /// Names the expectations whose failure only says that the case could not be set up.
  var setupChecks: Set<String> = []

  /// Tells whether the failure of an expectation says nothing about the cache.
  func isSetup(_ check: String) -> Bool {
    isSetup || setupChecks.contains(check)
  }
}

/// Holds the head of an interim answer.
struct InterimAnswer: Sendable, Hashable {
  var status: Int
  var fields: [FieldLine]
}

/// Holds what is expected of one answer, and of the request as it reaches the origin.
struct Expectation: Sendable {
  /// Says where an answer has to come from.
  enum Source: String, Sendable {
    case cached
    case notCached = "not_cached"
    case etagValidated = "etag_validated"
    case lastModifiedValidated = "lm_validated"
    /// Neither store nor origin answers: an error of the cache's own. Not in the public cases.
    case failed
  }

  enum Status: Sendable, Hashable {
    case any
    case exactly(Int)
  }

  enum FieldCheck: Sendable, Hashable {
    case present(String)
    case equal(FieldLine)
    case greater(String, than: Int)
  }

  var source: Source?
  var status: Status?
  var responseFields: [FieldCheck] = []
  var missingResponseFields: [String] = []
  /// Names fields that must not arrive with these values; other values may be of the next hop.
  var missingResponseValues: [FieldLine] = []
  var interim: [InterimAnswer]?
  var checksBody = true
  var text: String?
  var requestFields: [FieldCheck] = []
  var missingRequestFields: [String] = []
  var method: String?
}
