import CacheClient
import HTTPSemantics
import HTTPTransports

/// The source of the answers that the server sends to its clients.
///
/// It separates the server from the caching client, so that each can be tested without the other.
protocol ProxyBackend: Sendable {
  /// Returns an answer that is available at once, on the thread of the server, or `nil` if there is
  /// none.
  func storedAnswer(to request: HTTPRequest) -> ProxyAnswer?

  /// Answers a request. An error becomes an answer, too.
  func answer(
    _ request: HTTPRequest, body: RequestBody?,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async -> ProxyAnswer
}

/// An answer, and the data that is recorded about it.
struct ProxyAnswer: Sendable {
  var head: HTTPResponseHead
  var body: AnswerBody
  var source: AnswerSource
  var cacheStatus: CacheStatus?
  /// The reason why it is not a plain hit, in a few words, for log and pages.
  var reason = ""
  /// The length of the content that a 304 or an answer to `HEAD` describes, or `nil` if it is not
  /// known.
  var representationLength: UInt64?
  var closesConnection = false

  /// Whether the origin still needs the body of the request. It does not if it has answered with an
  /// error, or if the answer is from another source.
  var letsUploadGoOn: Bool { isStreamed && source == .network && head.status < 300 }

  /// Whether the body consists of pieces.
  var isStreamed: Bool {
    if case .stream = body { true } else { false }
  }
}

/// The source of the bytes of an answer.
enum AnswerBody: Sendable {
  case bytes([UInt8])
  /// A part of a file, which `owner` keeps open.
  case file(descriptor: Int32, offset: UInt64, length: UInt64, owner: any AnyObject & Sendable)
  /// Pieces in order. A `length` of `nil` means that it is not known.
  case stream(length: UInt64?, any AnswerPieces)
  /// The bytes of another protocol, in both directions, after a 101.
  case tunnel(SwitchedServer)
}

/// The body of an answer, piece by piece, for one reader.
protocol AnswerPieces: Sendable {
  /// Returns the next piece, or `nil` at the end of a complete body.
  func next() async throws -> [UInt8]?
  /// Ends the reading before the end of the body.
  func cancel()
  /// Whether the body is stored; final at its end.
  var storing: StoringState { get }
}
