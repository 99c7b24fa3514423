import CLibrary
import Foundation

/// What a child process is started for; the first argument of its command line.
enum ChildRole: String {
  case open = "child-open"
  case large = "child-large"

  /// Runs the role with the rest of the arguments.
  func run(_ arguments: [String]) throws(BenchmarkError) {
    switch self {
    case .open: try runOpen(arguments)
    case .large: try runLarge(arguments)
    }
  }
}

/// Runs this executable in a role, and returns the numbers that it prints.
///
/// Foundation's `Process` would start it in a process group of its own, out of the reach of Ctrl-C.
func runChild(
  _ role: ChildRole, _ arguments: [String], numbers count: Int
) throws(BenchmarkError) -> [UInt64] {
  let pipe = Pipe()
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
  unsafe posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForWriting.fileDescriptor, 1)
  var strings =
    unsafe ([executable, role.rawValue] + arguments).map { unsafe strdup($0) } + [nil]
  defer { unsafe strings.forEach { unsafe free($0) } }
  var identifier: pid_t = 0
  let code = unsafe posix_spawn(&identifier, executable, &actions, nil, &strings, environ)
  guard code == 0 else { throw .failed("cannot start \(role.rawValue): error \(code)") }
  try? pipe.fileHandleForWriting.close()
  let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
  var status: Int32 = 0
  // Safety: the kernel fills in the status; EINTR is the only reason to ask again.
  while unsafe waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
  let numbers = output.split(separator: 10).first?.split(separator: 32)
    .compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
  guard let numbers, numbers.count == count else {
    try Interrupt.check()
    throw .failed("the process '\(role.rawValue)' failed; its message stands above")
  }
  return numbers
}
