import CLibrary
import CacheSystem

extension Terminal {
  /// Reads a line from the controlling terminal, even if standard input is redirected, without
  /// showing the typed text.
  ///
  /// Meanwhile the terminal sends no signals: Ctrl-C is read as a key, and Ctrl-Z and Ctrl-\ do
  /// nothing, because a process that is stopped or ended would leave the terminal silent. A process
  /// in the background stops before it prompts.
  ///
  /// - Returns: The line without its end, or `nil` if the process has no terminal or Ctrl-D was
  ///   typed.
  package static func readSecret(_ prompt: String) throws(Interrupted) -> Argument? {
    let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    // The terminal modes of another process must not be saved and restored here.
    if tcgetpgrp(descriptor) != getpgrp() { raise(SIGTTIN) }
    guard tcgetpgrp(descriptor) == getpgrp() else { return nil }
    var before = termios()
    // Safety, for both calls: the structure is a local.
    guard unsafe tcgetattr(descriptor, &before) == 0 else { return nil }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    guard unsafe tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { return nil }
    defer {
      unsafe tcsetattr(descriptor, TCSAFLUSH, &before)
      _ = writeBytes(Array("\n".utf8), to: descriptor)
    }
    _ = writeBytes(Array(prompt.utf8), to: descriptor)
    return try readLine(descriptor)
  }

  /// Reads to the end of a line. Checks several times a second whether the user has interrupted the
  /// tool.
  private static func readLine(_ descriptor: Int32) throws(Interrupted) -> Argument? {
    var line = SecretLine()
    while true {
      try Interruption.check()
      guard Poll.isReady(descriptor, for: POLLIN, milliseconds: 100) else { continue }
      var byte: UInt8 = 0
      // Safety: read writes at most one byte into the local.
      guard unsafe read(descriptor, &byte, 1) == 1 else { return nil }
      switch line.take(byte) {
      case .more: continue
      case .end: return Argument(bytes: line.bytes)
      case .nothing: return nil
      case .interrupt: throw Interrupted(signal: SIGINT)
      }
    }
  }
}

/// The line editor of a terminal that shows nothing.
struct SecretLine {
  enum Event { case more, end, nothing, interrupt }

  private(set) var bytes: [UInt8] = []

  mutating func take(_ byte: UInt8) -> Event {
    switch byte {
    case 0x0A, 0x0D: return .end
    case 0x03: return .interrupt
    case 0x04: return bytes.isEmpty ? .nothing : .end
    case 0x08, 0x7F:
      // Removes a whole character of UTF-8: its continuation bytes and its first byte.
      while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
    case 0x15: bytes = []
    case 0x1A, 0x1C: break
    default: bytes.append(byte)
    }
    return .more
  }
}
