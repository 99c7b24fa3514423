import CLibrary
import CacheSystem
import CommandLineTools

/// Another program, which this one starts.
struct ProgramRun: Sendable {
  private let process: pid_t

  /// Starts a program with the standard output and the standard error of this one, and no input.
  ///
  /// - Parameters:
  ///   - path: The path of the program.
  ///   - arguments: Its arguments, without its name.
  ///   - environment: Its environment, each member with an equals sign.
  ///   - discarded: The descriptors whose output is thrown away: 1, 2, both or none.
  ///   - hasGroup: Whether it is the first of a process group of its own: Ctrl-C does not end it, and
  ///     it cannot ask for anything on the terminal.
  init(
    _ path: String, _ arguments: [Argument], environment: [Argument] = ProgramRun.environment(),
    discarded: [Int32] = [], hasGroup: Bool = false
  ) throws {
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
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for number in discarded {
      unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
    }
    // Signals that this program ignores would be ignored by the other, too.
    var defaults = sigset_t()
    // Safety: the set is a local, which the attributes copy.
    unsafe sigemptyset(&defaults)
    for number in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&defaults, number) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    let flags = hasGroup ? POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSIGDEF
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    var started: pid_t = 0
    let result = unsafe Self.withStrings([Argument(path)] + arguments) { words in
      unsafe Self.withStrings(environment) { variables in
        // Safety: both lists end with a null pointer and live during the call.
        unsafe posix_spawn(&started, path, &actions, &attributes, words, variables)
      }
    }
    guard result == 0 else { throw Self.failure(path, result) }
    process = started
  }

  /// Waits for the end; returns the exit status, or 128 and the signal that ended it.
  func wait() -> Int32 {
    var status: Int32 = 0
    // Safety: waitpid fills the local.
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// Sends a signal to the program, which has a group of its own, and to those that it has started.
  func send(_ signal: Int32) { kill(-process, signal) }

  /// Whether the program, which has a group of its own, or one that it has started still runs.
  var isRunning: Bool { kill(-process, 0) == 0 }

  /// Runs a program to its end.
  ///
  /// - Returns: Its exit status.
  static func run(_ path: String, _ arguments: String...) throws -> Int32 {
    try ProgramRun(path, arguments.map { Argument($0) }).wait()
  }

  /// Becomes another program: with its arguments, its environment, and all files that are open here.
  static func become(_ path: String, _ arguments: [Argument], environment: [Argument]) throws
    -> Never
  {
    for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_DFL) }
    let number = unsafe withStrings([Argument(path)] + arguments) { words in
      unsafe withStrings(environment) { variables in
        // Safety: both lists end with a null pointer and live during the call.
        _ = unsafe execve(path, words, variables)
        return errno
      }
    }
    throw failure(path, number)
  }

  /// Returns the path of a program, as a shell finds it; `nil` if there is none.
  static func find(_ name: String) -> String? {
    if name.contains("/") { return isProgram(name) ? name : nil }
    let folders = Argument.environment("PATH")?.text ?? "/usr/local/bin:/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(name)" }.first(where: isProgram)
  }

  private static func isProgram(_ path: String) -> Bool {
    // Safety: the path lives during the call.
    unsafe access(path, X_OK) == 0 && fileKind(Array(path.utf8)) == .file
  }

  /// Returns the environment of this process, with other values for some variables.
  ///
  /// - Parameter changes: The new values by name; `nil` removes a variable.
  static func environment(_ changes: [String: String?] = [:]) -> [Argument] {
    var members: [Argument] = []
    var next = unsafe environ
    // Safety: the environment ends with a null pointer, and the tools never change it.
    while let member = unsafe next.pointee {
      let bytes = unsafe UnsafeRawBufferPointer(start: member, count: strlen(member))
      let name = unsafe String(decoding: bytes.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if changes[name] == nil { unsafe members.append(Argument(bytes: Array(bytes))) }
      unsafe next += 1
    }
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      if let value { members.append(Argument("\(name)=\(value)")) }
    }
    return members
  }

  /// Calls a closure with C strings, after which comes a null pointer.
  private static func withStrings<Result>(
    _ words: [Argument], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    // Safety: the copies, which end with a zero, live until the closure has returned.
    var strings = unsafe words.map { word in
      unsafe strdup(word.bytes.map { CChar(bitPattern: $0) } + [0])
    }
    unsafe strings.append(nil)
    defer { unsafe strings.forEach { unsafe free($0) } }
    return unsafe strings.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
  }

  private static func failure(_ path: String, _ number: Int32) -> ToolError {
    ToolError(
      subject: path, problem: "cannot be started: \(SystemError(number))",
      remedy: "check the path and its permissions")
  }
}
