/// Decodes the content codings of a stream of bytes (RFC 9110, section 8.4.1), at the reader's
/// pace.
///
/// Coded bytes are added with ``append(_:)``. Decoded pieces are returned by ``next()`` until it
/// returns `nil`, which means that more coded bytes are needed. ``finish()`` checks whether the
/// data is complete. No piece is larger than ``maximumPieceBytes``, so a few bytes that decode to
/// gigabytes need no more memory than others. Bytes that are appended but not decoded stay in
/// memory, so each piece from the network should be decoded completely before the next one is
/// appended.
///
/// Data that decodes to nothing for long is damaged, because a few bytes of it could keep a
/// processor busy for hours: more than 1,024 gzip members without content in a row, or, with
/// several codings, 64 MiB between the stages without a byte of output.
///
/// After a call has thrown an error, every later call throws the same error.
package struct ContentDecoder: ~Copyable, Sendable {
  /// The maximum number of bytes of a piece: 64 KiB.
  package static let maximumPieceBytes = 64 * 1024

  /// The maximum number of codings.
  ///
  /// Servers use one, rarely two. Each takes 40 KiB and multiplies the work that a few bytes can
  /// cause.
  package static let maximumCodings = 4

  /// The limit of the bytes that pass between stages without any output.
  private static let maximumSilentBytes = 64 << 20

  /// The least number of bytes that a piece between stages counts for, because even a short one
  /// takes time.
  private static let leastCount = 1_024

  /// The stages in the order in which the bytes pass them: the coding applied last is the first.
  private var stages: [InflateStage]
  /// The bytes that have passed between stages since the last output.
  private var silentBytes = 0
  /// The bytes that have passed between stages, which may be far more than those before and after all of
  /// them.
  package private(set) var passedBytes = 0
  private var failure: ContentCodingError?

  /// Creates a decoder for codings in the order of `Content-Encoding`: the coding applied first is
  /// the first.
  ///
  /// These codings are supported: `gzip` and `x-gzip` (RFC 1952, with several members), `deflate`
  /// (RFC 1950, and RFC 1951 without the zlib frame, which servers send under that name).
  /// Case is ignored.
  ///
  /// - Returns: `nil` if a coding is unknown, or there are none or more than ``maximumCodings``.
  package init?(codings names: [String]) {
    var stages: [InflateStage] = []
    for name in names.reversed() {
      guard let coding = Coding(name), stages.count < Self.maximumCodings else { return nil }
      stages.append(InflateStage(coding))
    }
    guard !stages.isEmpty else { return nil }
    self.stages = stages
  }

  package mutating func append(_ coded: [UInt8]) {
    guard failure == nil else { return }
    stages[0].append(coded)
  }

  /// Returns the next decoded piece, which is never empty, or `nil` if more coded bytes are needed.
  ///
  /// - Throws: ``ContentCodingError/damaged(coding:)`` or ``ContentCodingError/outOfMemory``.
  package mutating func next() throws(ContentCodingError) -> [UInt8]? {
    if let failure { throw failure }
    do throws(ContentCodingError) {
      let piece = try pull(stages.count - 1)
      if piece != nil { silentBytes = 0 }
      return piece
    } catch {
      throw fail(error)
    }
  }

  /// Checks that the data is complete. Call it after the last ``append(_:)``, when ``next()`` has
  /// returned `nil`.
  ///
  /// Empty data is complete, because responses without content may have a `Content-Encoding`, too.
  ///
  /// - Throws: ``ContentCodingError/truncated(coding:)`` if the data ends too early.
  package mutating func finish() throws(ContentCodingError) {
    if let failure { throw failure }
    for stage in stages where !stage.isAtEnd {
      throw fail(.truncated(coding: stage.coding.rawValue))
    }
  }

  /// Returns a piece from a stage, which takes its input from the stage before it.
  private mutating func pull(_ index: Int) throws(ContentCodingError) -> [UInt8]? {
    while true {
      if let piece = try stages[index].next(atMost: Self.maximumPieceBytes) { return piece }
      guard index > 0, let input = try pull(index - 1) else { return nil }
      passedBytes += input.count
      silentBytes += max(input.count, Self.leastCount)
      guard silentBytes <= Self.maximumSilentBytes else {
        throw .damaged(coding: stages[index].coding.rawValue)
      }
      stages[index].append(input)
    }
  }

  private mutating func fail(_ error: ContentCodingError) -> ContentCodingError {
    failure = error
    stages = []
    return error
  }
}
