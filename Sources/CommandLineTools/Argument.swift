import CLibrary
import CacheFormat

/// A command-line argument as the bytes that the system passed.
///
/// File names and keys need not be UTF-8, so an argument consists of bytes. ``text`` is for
/// arguments that must be text.
package struct Argument: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The bytes, without the terminating zero.
  package var bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  package init(_ string: String) { self.bytes = Array(string.utf8) }

  package init(stringLiteral value: String) { self.init(value) }

  package var text: String? { String(validating: bytes, as: UTF8.self) }

  package var description: String { terminalSafe(bytes) }

  /// The argument with `...` in place of what may be a name and password, for messages about a wrong
  /// value. Without a scheme, only a text with a colon has that.
  var withoutCredentials: Argument {
    guard let parts = HiddenCredentials(bytes) else { return self }
    let hidden = bytes[parts.scheme.endIndex..<parts.rest.startIndex]
    guard !parts.scheme.isEmpty || hidden.contains(UInt8(ascii: ":")) else { return self }
    return Argument(bytes: parts.scheme + Array("...@".utf8) + parts.rest)
  }
}

extension Argument {
  /// Returns the arguments of this process, without the name of the program.
  ///
  /// `CommandLine.arguments` replaces bytes that are not UTF-8, so a different file would be
  /// opened.
  package static func ofProcess() -> [Argument] {
    let count = Int(CommandLine.argc)
    guard count > 1 else { return [] }
    return (1..<count).compactMap { index in
      // Safety: argv holds argc zero-terminated strings that live as long as the process.
      unsafe CommandLine.unsafeArgv[index].map { pointer in unsafe Argument(copying: pointer) }
    }
  }

  /// Returns the value of an environment variable, or `nil` if it is not set or empty.
  ///
  /// An empty variable counts as not set, as the XDG Base Directory Specification requires.
  package static func environment(_ name: String) -> Argument? {
    // Safety: the tools never change their environment, so the pointer is valid during the copy.
    guard let pointer = unsafe getenv(name) else { return nil }
    let value = unsafe Argument(copying: pointer)
    return value.bytes.isEmpty ? nil : value
  }

  private init(copying pointer: UnsafePointer<CChar>) {
    // Safety: the caller passes a zero-terminated string, and strlen bounds the copy.
    let raw = unsafe UnsafeRawBufferPointer(start: pointer, count: strlen(pointer))
    unsafe self.init(bytes: Array(raw))
  }
}
