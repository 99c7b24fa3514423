import HTTPSemantics
import HTTPTransports

/// Gives the answers that the server hands to its clients.
///
/// Between the server and the caching client, so that each can be tried without the other.
protocol ProxyBackend: Sendable {
  /// Returns what can be answered at once, in the thread of the server; nil for all else.
  func storedAnswer(to request: HTTPRequest) -> ProxyAnswer?

  /// Answers a request, from wherever; what goes wrong is an answer, too.
  func answer(
    _ request: HTTPRequest, body: RequestBody?,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async -> ProxyAnswer
}

/// Holds an answer and what is told about it.
struct ProxyAnswer: Sendable {
  var head: HTTPResponseHead
  var body: AnswerBody
  var source: AnswerSource
  /// The value of the `Cache-Status` field; empty for none.
  var cacheStatus: String
  /// Why it is not a plain hit, in a few words, for log and pages.
  var reason = ""
  /// The length of what a 304 stands for, or an answer to `HEAD`; nil: not known.
  var representationLength: UInt64?
  /// Tells whether the connection ends with this answer.
  var closesConnection = false

  /// Tells whether the origin still takes the body of the request: not once it has answered with an error,
  /// or somebody else has answered.
  var letsUploadGoOn: Bool { isStreamed && source == .network && head.status < 300 }

  /// Tells whether the body comes piece by piece.
  var isStreamed: Bool {
    if case .stream = body { true } else { false }
  }
}

/// Says where the bytes of an answer come from.
enum AnswerBody: Sendable {
  case bytes([UInt8])
  /// A part of a file, which `owner` keeps open.
  case file(descriptor: Int32, offset: UInt64, length: UInt64, owner: any AnyObject & Sendable)
  /// Pieces as they come; nil: nobody knows how many bytes they are.
  case stream(length: UInt64?, any AnswerPieces)
}

/// The body of an answer, piece by piece, for one reader.
protocol AnswerPieces: Sendable {
  /// Returns the next piece, or nil at the end of a complete body.
  func next() async throws -> [UInt8]?
  /// Tells that nobody will read on.
  func cancel()
}
