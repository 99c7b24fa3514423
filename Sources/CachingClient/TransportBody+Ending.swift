import HTTPTransport

extension TransportBody {
  /// Reads what is left of a body that nobody wants, if that is little, so that its connection lives,
  /// and lets go of it.
  func end(within limit: Int = 64 << 10) async {
    var count = 0
    while count < limit, let piece = try? await next() { count += piece.count }
    cancel()
  }
}
