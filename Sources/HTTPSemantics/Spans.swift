// `Array.span` and `String.utf8.span` need macOS and iOS 26. These take their place in all modules.

extension [UInt8] {
  /// Calls `body` with a span of the bytes, without copying them.
  @inlinable
  package func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    // Safety: the buffer is valid during the call, and `body` cannot store the span.
    unsafe withUnsafeBufferPointer { unsafe body(Span(_unsafeElements: $0)) }
  }
}

extension String {
  /// Calls `body` with a span of the UTF-8, which is copied only if the text is not stored so.
  @inlinable
  package func withUTF8Span<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    // Safety: the buffer is valid during the call, and `body` cannot store the span.
    let result = unsafe utf8.withContiguousStorageIfAvailable {
      unsafe body(Span(_unsafeElements: $0))
    }
    return result ?? Array(utf8).withSpan(body)
  }
}
