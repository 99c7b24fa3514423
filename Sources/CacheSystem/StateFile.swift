internal import CLibrary

extension UserPath {
  /// The user's folder for the state of this library: `offlinecache` below `$XDG_STATE_HOME`, else
  /// below `~/.local/state` (on Apple platforms `~/Library/Application Support`). `nil` if neither
  /// `XDG_STATE_HOME` nor `HOME` has an absolute path; the XDG Base Directory Specification ignores
  /// relative ones.
  package static var stateFolder: String? {
    if let base = environment("XDG_STATE_HOME"), base.hasPrefix("/") {
      return base + "/offlinecache"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    #if canImport(Darwin)
      return home + "/Library/Application Support/offlinecache"
    #else
      return home + "/.local/state/offlinecache"
    #endif
  }

  /// Returns the path of a file in ``stateFolder``.
  package static func stateFile(_ name: String) -> String? { stateFolder.map { "\($0)/\(name)" } }

  /// Returns the value of an environment variable, or `nil` if it is not set.
  package static func environment(_ name: String) -> String? {
    // Safety: the text is copied at once.
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }
}

extension FileSystem {
  /// Creates the missing parts of a folder, with the mode 0700. Errors are ignored, because opening
  /// the folder fails then.
  package func makeFolders(_ folder: String) {
    var prefix = folder.hasPrefix("/") ? "/" : ""
    for part in folder.split(separator: "/") {
      prefix += part
      try? makeDirectory(userPath: prefix, mode: 0o700)
      prefix += "/"
    }
  }
}
