import Foundation
import Glibc
import Synchronization

/// Runs a program of the system.
///
/// Foundation's Process is not for that: started by several tests at once it has crashed, it passes on
/// the signals that its thread blocks, and a server would keep the descriptors of other tests open.
final class Program: Sendable {
  private let process: pid_t
  private let status = Mutex<Int32?>(nil)

  /// Returns the path of a program; nil where it is not installed.
  static func find(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders.map(String.init) + ["/usr/sbin", "/sbin"])
      .map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Starts a program whose words go to a file, with nothing else open.
  init(_ name: String, _ arguments: [String], errors: URL) throws {
    guard let path = Self.find(name) else { throw NginxFailure(what: "\(name) is not installed") }
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    var signals = sigset_t()
    var none = sigset_t()
    // Safety: all are initialised here, used by the one spawn, and destroyed at the end.
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(
      &actions, 1, errors.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
    // Those that are not open are passed over.
    for descriptor in Int32(3)..<min(1024, Int32(sysconf(Int32(_SC_OPEN_MAX)))) {
      unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
    }
    unsafe sigfillset(&signals)
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
    // Safety: the copies are freed after the call; the words end with a null pointer.
    var words = unsafe ([path] + arguments).map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var started: pid_t = 0
    let failure = unsafe posix_spawn(&started, path, &actions, &attributes, words, environ)
    guard failure == 0 else { throw NginxFailure(what: "\(path) does not start: \(failure)") }
    process = started
  }

  deinit {
    guard isRunning else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Tells whether it has not ended yet.
  var isRunning: Bool { exitStatus == nil }

  /// Gives what waitpid(2) says, once it has ended.
  private var exitStatus: Int32? {
    status.withLock { status in
      var word: Int32 = 0
      // Safety: waitpid fills the local; a process that has been waited for is not asked again.
      if status == nil, unsafe waitpid(process, &word, WNOHANG) == process { status = word }
      return status
    }
  }

  /// Runs a program to its end, without blocking a thread of the tests.
  static func run(_ name: String, _ arguments: [String], errors: URL) async throws {
    let program = try Program(name, arguments, errors: errors)
    while program.isRunning { try await Task.sleep(for: .milliseconds(2)) }
    guard program.exitStatus == 0 else {
      let words = try? String(contentsOf: errors, encoding: .utf8)
      throw NginxFailure(what: "\(name) \(arguments.joined(separator: " ")): \(words ?? "")")
    }
  }
}
