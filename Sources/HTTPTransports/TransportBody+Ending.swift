extension TransportBody {
  /// Discards the rest of a body: reads a short rest, so that the connection can be used again, and
  /// cancels the transfer after `limit` bytes.
  package func end(within limit: Int = 64 << 10) async {
    var count = 0
    while count < limit, let piece = try? await next() { count += piece.count }
    cancel()
  }
}
