import CommandLineTools
import HTTPCaching

/// The key that conceals credentials in the store; for commands that look responses up for a request.
enum FingerprintOption {
  static let option = Option(
    "fingerprint-key", .path.named("FILE"),
    defaultText: "offlinecache/fingerprint.key in $XDG_STATE_HOME or ~/.local/state",
    help: "Conceal credentials in the store with the key in this file, which is made if there is "
      + "none")

  /// Makes the key.
  ///
  /// - Throws: `UsageError`; ``FingerprintKeyError`` if the file that is named cannot be used. The
  ///   usual one is told of, and the command goes on with a key for itself.
  static func read(_ invocation: Invocation) throws -> FingerprintKey {
    guard let argument = invocation[option] else {
      return FingerprintKey { error in
        printMessage(
          "offlinecache: \(terminalSafe(error.description)); until then, what is stored for a log-in "
            + "is found by this run alone")
      }
    }
    guard let path = argument.text else {
      throw invocation.usageError(
        "the path \(argument) is not UTF-8", remedy: "choose another one")
    }
    let key = FingerprintKey(path: path)
    try key.load()
    return key
  }
}
