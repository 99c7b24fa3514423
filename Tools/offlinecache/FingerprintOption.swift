import CommandLineTools
import HTTPCaching

/// The key that conceals credentials in the store; for commands that look up stored responses for a
/// request.
enum FingerprintOption {
  static let option = Option(
    "fingerprint-key", .path.named("FILE"),
    defaultText: "offlinecache/fingerprint.key in $XDG_STATE_HOME or ~/.local/state",
    help: "Conceal credentials in what is stored with the key in this file; it is created if "
      + "there is none")

  /// Creates the key from the file of the command line, or else from the default file.
  ///
  /// - Throws: `UsageError`; ``FingerprintKeyError`` if the named file cannot be used. If the
  ///   default file cannot be used, a message is printed, and the command continues with a key that
  ///   only this run has.
  static func read(_ invocation: Invocation) throws -> FingerprintKey {
    guard let argument = invocation[option] else {
      return FingerprintKey { error in
        printMessage(
          "offlinecache: \(error); until then, responses stored for a "
            + "log-in are found by this run only")
      }
    }
    try checkOutput(argument, isRead: true)
    let key = FingerprintKey(path: try invocation.text(of: argument))
    try key.load()
    return key
  }
}
