/// Takes content codings off a stream of bytes (RFC 9110, section 8.4.1), at the reader's pace.
///
/// Coded bytes go in with ``append(_:)``; decoded pieces come out of ``next()`` until it returns
/// nil, which asks for more; ``finish()`` tells whether the end was one. No piece is larger than
/// ``maximumPieceBytes``, whatever the data, so a few bytes that stand for gigabytes take no more
/// memory than others. What has been appended and not been decoded stays in memory: append the
/// pieces as they come from the network, and pull all that comes out before the next one.
///
/// Once a call has thrown, every later one throws the same.
package struct ContentDecoder: ~Copyable, Sendable {
  /// The most bytes that one piece has: 64 KiB.
  package static let maximumPieceBytes = 64 * 1024

  /// The most codings that are taken off one after the other.
  ///
  /// A server names one, rarely two; each takes 40 KiB and multiplies the work that a few bytes
  /// can cause.
  package static let maximumCodings = 4

  /// Holds the stages in the order in which the bytes pass them: the coding applied last first.
  private var stages: [InflateStage]
  /// Holds what was appended when there is nothing to take off.
  private var plain: [UInt8] = []
  private var failure: ContentCodingError?

  /// Makes a decoder for codings in the order of `Content-Encoding`, the one applied first first.
  ///
  /// Known are `gzip` and `x-gzip` (RFC 1952, several members in a row), `deflate` (RFC 1950, and
  /// RFC 1951 without the zlib frame, which servers send under that name), `identity` and the
  /// empty name; letters of either case, white space around a name is ignored.
  ///
  /// - Returns: nil if a coding is unknown, or there are more than ``maximumCodings``.
  package init?(codings names: [String]) {
    var stages: [InflateStage] = []
    for name in names.reversed() {
      guard let coding = Coding(name) else { return nil }
      guard coding != .identity else { continue }
      guard stages.count < Self.maximumCodings else { return nil }
      stages.append(InflateStage(coding))
    }
    self.stages = stages
  }

  /// Tells whether the bytes come out as they went in.
  package var isIdentity: Bool { stages.isEmpty }

  /// Adds coded bytes.
  package mutating func append(_ coded: [UInt8]) {
    guard failure == nil else { return }
    guard !stages.isEmpty else {
      plain = plain.isEmpty ? coded : plain + coded
      return
    }
    stages[0].append(coded)
  }

  /// Returns the next decoded piece, never an empty one, or nil when more coded bytes are needed.
  ///
  /// - Throws: ``ContentCodingError/damaged(coding:)`` or ``ContentCodingError/outOfMemory``.
  package mutating func next() throws(ContentCodingError) -> [UInt8]? {
    if let failure { throw failure }
    guard !stages.isEmpty else { return takePlain() }
    do throws(ContentCodingError) {
      return try pull(stages.count - 1)
    } catch {
      throw fail(error)
    }
  }

  /// Checks that the data is complete; call it when there is no more to append and ``next()`` has
  /// returned nil.
  ///
  /// Nothing at all counts as complete: answers without content name codings, too.
  ///
  /// - Throws: ``ContentCodingError/truncated(coding:)`` when the data ends too early.
  package mutating func finish() throws(ContentCodingError) {
    if let failure { throw failure }
    for stage in stages where !stage.isAtEnd {
      throw fail(.truncated(coding: stage.coding.rawValue))
    }
  }

  /// Pulls a piece out of a stage, and what it needs out of the stage before it.
  private mutating func pull(_ index: Int) throws(ContentCodingError) -> [UInt8]? {
    while true {
      if let piece = try stages[index].next(atMost: Self.maximumPieceBytes) { return piece }
      guard index > 0, let input = try pull(index - 1) else { return nil }
      stages[index].append(input)
    }
  }

  private mutating func takePlain() -> [UInt8]? {
    guard !plain.isEmpty else { return nil }
    guard plain.count > Self.maximumPieceBytes else {
      defer { plain = [] }
      return plain
    }
    let piece = Array(plain[..<Self.maximumPieceBytes])
    plain.removeFirst(Self.maximumPieceBytes)
    return piece
  }

  private mutating func fail(_ error: ContentCodingError) -> ContentCodingError {
    failure = error
    stages = []
    return error
  }
}
