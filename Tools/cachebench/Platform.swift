import CacheSystem
import CommandLineTools

/// Reads the clock that never jumps.
enum MonotonicClock {
  /// Returns nanoseconds since an arbitrary moment.
  @inline(__always)
  static func now() -> UInt64 { UInt64(monotonicNanoseconds()) }
}

/// Writes results to standard output.
func emit(_ text: String) {
  _ = writeBytes(Array(text.utf8), to: 1)
}

/// Writes one line of progress to standard error.
func progress(_ text: String) {
  printMessage("cachebench: \(text)")
}
