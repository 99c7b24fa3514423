import CommandLineTools
import HTTPSemantics

/// The place where the bodies of a fetch are written, besides the store.
enum FetchTarget: Sendable {
  case none
  /// One body goes to a file, or to standard output for `-`.
  case file(Argument)
  /// Each body goes to its own file below a folder.
  case folder(OutputFolder)

  /// Whether bodies go to standard output. Nothing else may be written there then.
  var isStandardOutput: Bool {
    if case .file("-") = self { return true }
    return false
  }

  /// Whether bodies go nowhere but into the store.
  var isNone: Bool {
    if case .none = self { return true }
    return false
  }

  /// Opens the output for the body of a URL.
  ///
  /// - Parameter isGood: whether there is a body; `nil` before the request is sent. A file with a
  ///   given name is opened before that, so that a wrong name costs no transfer; one whose name
  ///   comes from the URL, once there is a body.
  func open(for url: NormalizedURL, isGood: Bool?) throws(OutputError) -> OutputFile? {
    switch (self, isGood) {
    case (.file(let path), nil): try OutputFile(path)
    case (.folder(let folder), true): try folder.open(for: url)
    default: nil
    }
  }
}
