import CLibrary
import CacheSystem
import CommandLineTools
import Synchronization

/// Reads the clock that never jumps.
enum MonotonicClock {
  /// Returns nanoseconds since an arbitrary moment (`clock_gettime(2)`, `CLOCK_MONOTONIC`).
  @inline(__always)
  static func now() -> UInt64 {
    var time = timespec()
    // Safety: the kernel fills in the one structure it is given.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

/// Remembers that Ctrl-C was pressed, so that folders are removed before the process ends.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)

  /// Starts to listen for SIGINT and SIGTERM, and ignores SIGPIPE.
  static func install() {
    // The flag is touched first: a lazy initialiser must not run inside a signal handler.
    flag.store(false, ordering: .relaxed)
    // Safety: the handler stores into one lock-free atomic and does nothing else.
    signal(SIGINT) { _ in Interrupt.flag.store(true, ordering: .relaxed) }
    signal(SIGTERM) { _ in Interrupt.flag.store(true, ordering: .relaxed) }
    signal(SIGPIPE, SIG_IGN)
  }

  /// Stops the benchmark when Ctrl-C was pressed.
  @inline(__always)
  static func check() throws(BenchmarkError) {
    if flag.load(ordering: .relaxed) { throw .interrupted }
  }
}

/// Writes results to standard output.
func emit(_ text: String) {
  _ = writeBytes(Array(text.utf8), to: 1)
}

/// Writes one line of progress to standard error.
func progress(_ text: String) {
  printMessage("cachebench: \(text)")
}
