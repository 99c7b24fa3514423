#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension Terminal {
  /// Asks for a line on the terminal of the process, wherever its input comes from, without showing what
  /// is typed.
  ///
  /// - Returns: the line without its end; nil: the process has no terminal, or the input ended.
  /// - Throws: ``Interrupted``.
  public static func readSecret(_ prompt: String) throws(Interrupted) -> Argument? {
    let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var before = termios()
    // Safety, for both calls: the structure is a local.
    guard unsafe tcgetattr(descriptor, &before) == 0 else { return nil }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    guard unsafe tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { return nil }
    defer {
      unsafe tcsetattr(descriptor, TCSAFLUSH, &before)
      show("\n", on: descriptor)
    }
    show(prompt, on: descriptor)
    return try readLine(descriptor)
  }

  private static func show(_ text: String, on descriptor: Int32) {
    let bytes = Array(text.utf8)
    // Safety: the bytes of the array are read. What a terminal does not take is not missed.
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Reads to the end of a line, and looks several times a second whether it is to end.
  private static func readLine(_ descriptor: Int32) throws(Interrupted) -> Argument? {
    var line: [UInt8] = []
    while true {
      try Interruption.check()
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Safety: poll reads and writes the one entry.
      guard unsafe poll(&ready, 1, 100) > 0 else { continue }
      var byte: UInt8 = 0
      // Safety: read writes at most one byte into the local.
      guard unsafe read(descriptor, &byte, 1) == 1 else { return nil }
      if byte == UInt8(ascii: "\n") { return Argument(bytes: line) }
      line.append(byte)
    }
  }
}
