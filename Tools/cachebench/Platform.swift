import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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

/// Writes text to a descriptor: 1 for results, 2 for progress.
func emit(_ text: String, to descriptor: Int32 = 1) {
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    // Safety: the buffer is valid for the duration of the call and its length is passed along.
    let written = unsafe bytes.withUnsafeBytes { buffer in
      unsafe write(descriptor, buffer.baseAddress, buffer.count)
    }
    guard written > 0 else { return }
    bytes = bytes.dropFirst(written)
  }
}

/// Writes one line of progress to standard error.
func progress(_ text: String) {
  emit("cachebench: \(text)\n", to: 2)
}

/// Returns what the last failed system call reported, in words.
func lastSystemError() -> String {
  let code = errno
  // Safety: strerror returns a NUL-terminated string; it is copied at once.
  return unsafe String(cString: strerror(code))
}
