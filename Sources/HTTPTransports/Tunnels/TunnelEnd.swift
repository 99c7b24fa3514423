/// The result of a read or write that does not wait.
package enum TunnelTransfer: Sendable, Hashable {
  /// So many bytes, at least one.
  case bytes(Int)
  /// Nothing now; poll(2) tells when there is more.
  case wouldBlock
  /// The other party sends no more; or, as the result of ``TunnelEnd/finishWriting()``, was told that
  /// no more follows. Writes do not return it.
  case end
  /// The connection is lost.
  case failed
}

/// One of the two connections of a tunnel. No call waits, and one thread at a time makes them.
package protocol TunnelEnd: AnyObject, Sendable {
  /// The descriptor for poll(2); -1 if there is nothing to wait for.
  var descriptor: Int32 { get }

  /// Reads bytes into a buffer, which must not be empty.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer

  /// Writes the first bytes of a buffer, which must not be empty.
  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer

  /// Tells the other party that no more bytes follow. Bytes from it are still read.
  ///
  /// - Returns: `.end`; `.wouldBlock` if it must be called again when bytes could be written; or
  ///   `.failed`.
  func finishWriting() -> TunnelTransfer

  /// Closes the connection; must be called once. With `isBroken` the other party gets an error
  /// (RST) if that is possible, because an end would look like that of complete data.
  func close(isBroken: Bool)
}
