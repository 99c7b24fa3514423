import ContentCoding

/// Decodes a coded body while it is stored, without keeping the content: a damaged one must not
/// replace a good one.
struct CodingCheck: ~Copyable, Sendable {
  /// The most bytes of content, and between several codings, for each coded byte. Otherwise a few bytes could
  /// keep a processor busy: for seconds with one coding, for hours with several.
  private static let maximumRatio = 100
  /// The bytes that are decoded in any case.
  private static let leastBytes = 512 << 10

  /// `nil` once the content has proved too long to be checked.
  private var decoder: ContentDecoder?
  private var codedBytes = 0
  private var contentBytes = 0

  /// Creates a check; `nil` if the response is not coded, or cannot be decoded by itself.
  ///
  /// One that continues a stored beginning is not checked: the same beginning would be used for every
  /// later request if it is the cause of the damage.
  init?(_ plan: StoringPlan) {
    guard plan.prefix == nil, plan.response.contentRange == nil,
      let codings = plan.response.fields.contentCodings,
      let decoder = ContentDecoder(codings: codings)
    else { return nil }
    self.decoder = consume decoder
  }

  /// Decodes a piece.
  ///
  /// - Parameter piece: the next bytes; `nil` at the end.
  /// - Returns: the damage; `nil` if there is none, or it cannot be found.
  mutating func damage(in piece: [UInt8]?) -> ContentCodingError? {
    if let piece {
      decoder?.append(piece)
      codedBytes += piece.count
    }
    do throws(ContentCodingError) {
      while let content = try decoder?.next() {
        contentBytes += content.count
        let bytes = contentBytes + (decoder?.passedBytes ?? 0)
        if bytes > max(Self.leastBytes, codedBytes * Self.maximumRatio) { decoder = nil }
      }
      if piece == nil { try decoder?.finish() }
      return nil
    } catch {
      return error.isDamage ? error : nil
    }
  }
}

extension ContentCodingError {
  /// Whether the coded bytes are wrong; another decoder would find the same.
  var isDamage: Bool { self != .outOfMemory }
}
