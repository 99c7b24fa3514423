import CacheSystem
import CommandLineTools

enum MonotonicClock {
  @inline(__always)
  static func now() -> UInt64 { UInt64(monotonicNanoseconds()) }
}

func emit(_ text: String) {
  _ = writeBytes(Array(text.utf8), to: 1)
}

func progress(_ text: String) {
  printMessage("cachebench: \(text)")
}
