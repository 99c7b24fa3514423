import ContentCoding
import HTTPTransports

/// The pieces of a body, without its content coding.
struct DecodedPieces: ~Copyable {
  private let body: any TransportBody
  private var decoder: ContentDecoder?
  private var isOver = false

  /// Creates the pieces of a body; `nil` as the decoder for a body without a content coding.
  init(_ body: any TransportBody, _ decoder: consuming ContentDecoder?) {
    self.body = body
    self.decoder = decoder
  }

  /// Returns the next piece, or `nil` at the end of a complete body.
  mutating func next() async throws(DownloadError.Cause) -> [UInt8]? {
    guard decoder != nil else { return try await received() }
    while true {
      if let piece = try decoded() { return piece }
      if isOver { return nil }
      if let more = try await received() {
        decoder?.append(more)
      } else {
        isOver = true
        try finish()
      }
    }
  }

  private func received() async throws(DownloadError.Cause) -> [UInt8]? {
    do throws(TransportError) {
      return try await body.next()
    } catch {
      throw .transport(error)
    }
  }

  private mutating func decoded() throws(DownloadError.Cause) -> [UInt8]? {
    do throws(ContentCodingError) {
      return try decoder?.next()
    } catch {
      throw .coding(error)
    }
  }

  private mutating func finish() throws(DownloadError.Cause) {
    do throws(ContentCodingError) {
      try decoder?.finish()
    } catch {
      throw .coding(error)
    }
  }
}
