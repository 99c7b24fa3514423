/// A mistake in a command line, and the advice what to type instead.
package struct UsageError: Error, Hashable, CustomStringConvertible {
  /// The command with the mistake, with the name of the tool: `offlinecache fetch`.
  package var command: String
  package var problem: String
  package var remedy: String

  /// The error in one line: `tool: what is wrong; what to do`.
  package var description: String { "\(command): \(problem); \(remedy)" }
}
