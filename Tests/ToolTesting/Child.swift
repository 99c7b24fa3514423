import CLibrary
import Synchronization
import Testing

/// A child process, started with posix_spawn(3), and killed with its last reference.
///
/// Foundation's Process (6.3) is not for tests: it reads beyond the list of open files and may crash
/// where there are over 1,300, as with many servers beside each other; it passes on the signals that
/// its thread blocks, and cannot pass arguments that are not UTF-8.
package final class Child: Sendable {
  private let process: pid_t
  /// The exit status, or 1000 and the signal that ended it; nil until the child was waited for.
  private let status = Mutex<Int32?>(nil)

  /// Starts a program; the descriptors become its 0, 1, 2, it gets no other ones above, and signals
  /// have their defaults.
  package init(_ path: String, _ arguments: [[UInt8]], descriptors: [Int32] = []) throws {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    // Safety: both are initialised here, used by the one spawn, and destroyed at the end.
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    for (target, source) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    var flags = Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK)
    #if canImport(Darwin)
      flags |= Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
      for standard in Int32(descriptors.count)..<3 {
        unsafe posix_spawn_file_actions_addinherit_np(&actions, standard)
      }
    #else
      // A server would keep the descriptors of other tests open. Those that are not open are passed over.
      for descriptor in Int32(3)..<min(4096, Int32(sysconf(Int32(_SC_OPEN_MAX)))) {
        unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
      }
    #endif
    var defaults = sigset_t()
    var blocked = sigset_t()
    // Safety: the sets are locals; the attributes copy them.
    unsafe sigfillset(&defaults)
    unsafe sigemptyset(&blocked)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
    unsafe posix_spawnattr_setflags(&attributes, flags)
    // Safety: each word is copied with its zero; the copies are freed when the child runs.
    var words = unsafe ([Array(path.utf8)] + arguments).map { unsafe copyOfString($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var started: pid_t = 0
    // Safety: the words and the environment end with a null pointer and live during the call.
    let failure = unsafe posix_spawn(&started, path, &actions, &attributes, words, environ)
    try #require(failure == 0, "\(path) could not be started: \(failure)")
    process = started
  }

  /// Runs a program to its end; returns its status, as `wait` does, and what it has printed.
  package static func run(
    _ path: String, _ arguments: [String], errors: Int32 = 2
  ) throws -> (status: Int32, output: String) {
    let (pipe, nothing) = (try Pipe(), try openFile("/dev/null", O_RDONLY))
    defer {
      close(pipe.reader)
      close(nothing)
    }
    let child: Child
    do {
      defer { close(pipe.writer) }
      child = try Child(
        path, arguments.map { Array($0.utf8) }, descriptors: [nothing, pipe.writer, errors])
    }
    let output = String(decoding: try readAll(pipe.reader), as: UTF8.self)
    return (try child.wait(), output)
  }

  deinit {
    send(SIGKILL)
    _ = try? wait()
  }

  /// Sends a signal; does nothing once the child was waited for, when its number may be another's.
  package func send(_ signal: Int32) {
    status.withLock { if $0 == nil { kill(process, signal) } }
  }

  /// Waits for the end; returns the exit status, or 1000 and the signal that ended it.
  package func wait() throws -> Int32 {
    while true {
      if let status = ended() { return status }
      var facts = unsafe siginfo_t()
      // Safety: waitid fills the local. The child remains to be waited for, under the lock.
      let result = unsafe waitid(P_PID, id_t(process), &facts, WEXITED | WNOWAIT)
      try #require(result == 0 || errno == EINTR || errno == ECHILD)
    }
  }

  /// Waits until it has come to something; fails if it ends before, or when the test's time is up.
  package func wait(until condition: () throws -> Bool) throws {
    while true {
      let status = ended()
      if try condition() { return }
      if let status { throw ChildEnded(status: status) }
      try Task.checkCancellation()
      waitForNextLook()
    }
  }

  /// Returns how the child ended; nil if it still runs.
  private func ended() -> Int32? {
    status.withLock { known in
      var status: Int32 = 0
      // Safety: waitpid fills the local.
      if known == nil, unsafe waitpid(process, &status, WNOHANG) == process {
        let signal = status & 0x7F
        known = signal == 0 ? (status >> 8) & 0xFF : 1000 + signal
      }
      return known
    }
  }
}

/// Tells that a child has ended before it came to what was waited for.
package struct ChildEnded: Error {
  package let status: Int32
}

/// Copies bytes into a C string that the caller frees.
private func copyOfString(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar>? {
  let copy = unsafe calloc(bytes.count + 1, 1)!.assumingMemoryBound(to: CChar.self)
  // Safety: the index stays below the capacity, and calloc left the zero at the end.
  for (index, byte) in bytes.enumerated() { unsafe copy[index] = CChar(bitPattern: byte) }
  return unsafe copy
}
