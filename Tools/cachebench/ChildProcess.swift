#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Another run of this executable, that is talked to in lines of text.
final class ChildProcess {
  private var identifier: pid_t = 0
  private let input: Int32
  private let output: LineReader
  private let label: String

  /// Starts this executable with other arguments.
  init(_ arguments: [String]) throws(BenchmarkError) {
    label = arguments.joined(separator: " ")
    let toChild = try Self.makePipe()
    let fromChild = try Self.makePipe()
    input = toChild.writeEnd
    output = LineReader(descriptor: fromChild.readEnd)
    defer {
      close(toChild.readEnd)
      close(fromChild.writeEnd)
    }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      let executable = CommandLine.arguments[0]
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      let executable = "/proc/self/exe"
    #endif
    // Safety: the actions are initialised, used and destroyed here; the argument strings are
    // copied and freed after the call, which does not keep them.
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, toChild.readEnd, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, fromChild.writeEnd, 1)
    var strings = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
    defer { unsafe strings.forEach { unsafe free($0) } }
    let code = unsafe posix_spawn(&identifier, executable, &actions, nil, &strings, environ)
    guard code == 0 else { throw .failed("cannot start \(label): error \(code)") }
  }

  /// Sends one line.
  func send(_ line: String) {
    emit(line + "\n", to: input)
  }

  /// Returns the next line the child prints.
  func readLine() throws(BenchmarkError) -> String {
    guard let line = output.next() else {
      try Interrupt.check()
      throw .failed("the process '\(label)' ended early; its message stands above")
    }
    return line
  }

  /// Lets the child end, and waits for it.
  func finish() {
    close(input)
    var status: Int32 = 0
    // Safety: the kernel fills in the status; EINTR is the only reason to ask again.
    while unsafe waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
    output.close()
  }

  private static func makePipe() throws(BenchmarkError) -> (readEnd: Int32, writeEnd: Int32) {
    var ends: [Int32] = [-1, -1]
    // Safety: the array has room for the two descriptors that the kernel writes.
    guard unsafe pipe(&ends) == 0 else { throw .failed("pipe: \(lastSystemError())") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}

/// Reads lines from a descriptor.
final class LineReader {
  private let descriptor: Int32
  private var pending: [UInt8] = []

  /// Reads from a descriptor that the reader closes.
  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Returns the next line without its end; nil when there is none.
  func next() -> String? {
    var searched = 0
    while true {
      if let end = pending[searched...].firstIndex(of: 10) {
        defer { pending.removeSubrange(...end) }
        return String(decoding: pending[..<end], as: UTF8.self)
      }
      searched = pending.count
      // Safety: read stays within the capacity that is passed along and reports what it filled.
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
        count = unsafe max(0, read(descriptor, buffer.baseAddress, buffer.count))
      }
      if piece.isEmpty { return nil }
      pending += piece
    }
  }

  /// Closes the descriptor.
  func close() {
    #if canImport(Darwin)
      Darwin.close(descriptor)
    #else
      Glibc.close(descriptor)
    #endif
  }
}
