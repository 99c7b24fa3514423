import CacheFormat
import CacheSystem
import CommandLineOptions
import StoreChecking

/// The file that an interrupted check of one store and kind leaves, in the user's folder for such things.
struct StateFile: Sendable {
  /// Why the file cannot be used, in words.
  struct Problem: Error {
    var text: String
  }

  private let folder: String
  private let name: PathName
  private let newName: PathName
  private var files: RealFileSystem { RealFileSystem() }

  /// Chooses the file of a store and a kind of check; nothing is read or made yet.
  ///
  /// - Throws: where the environment names no folder.
  init(storeID: String, _ request: CheckRequest) throws(Problem) {
    folder = try Self.folder()
    let stem = Array(
      "fsck-\(storeID)-\(request.depth.rawValue)-\(request.effectiveRepair?.rawValue ?? "none")"
        .utf8)
    let new = stem + Array(".\(UInt64.random(in: .min ... .max)).new".utf8)
    guard let name = PathName(bytes: stem), let newName = PathName(bytes: new) else {
      throw Problem(text: "the id of the store is no name")
    }
    self.name = name
    self.newName = newName
  }

  /// The path, for messages.
  var path: String { "\(folder)/\(name.text)" }

  /// `$XDG_STATE_HOME/offlinecache`; the XDG Base Directory Specification has relative paths ignored.
  private static func folder() throws(Problem) -> String {
    if let base = Argument.environment("XDG_STATE_HOME")?.text, base.hasPrefix("/") {
      return base + "/offlinecache"
    }
    guard let home = Argument.environment("HOME")?.text, home.hasPrefix("/") else {
      throw Problem(text: "neither XDG_STATE_HOME nor HOME names a folder")
    }
    #if canImport(Darwin)
      return home + "/Library/Application Support/offlinecache"
    #else
      return home + "/.local/state/offlinecache"
    #endif
  }

  /// Reads the state; nil where there is none.
  ///
  /// - Throws: where there is something that is no state.
  func load() throws(Problem) -> ResumeState? {
    let bytes: [UInt8]
    do throws(SystemError) {
      let directory = try files.open(userPath: folder, [.read, .directory])
      bytes = try files.readFile(name, in: directory, limit: ResumeState.maximumBytes)
    } catch  where error == .notFound {
      return nil
    } catch {
      throw Problem(text: "\(path) cannot be read: \(error)")
    }
    guard let state = ResumeState(decoding: bytes) else {
      throw Problem(text: "\(path) is not as cachefsck writes it")
    }
    return state
  }

  /// Replaces the state, by rename, so that a kill leaves the old one or the new one.
  func save(_ state: ResumeState) throws(Problem) {
    do throws(SystemError) {
      makeFolders()
      let directory = try files.open(userPath: folder, [.read, .directory])
      do throws(SystemError) {
        let file = try files.open(newName, in: directory, [.write, .create, .exclusive])
        try files.write(file, state.encoded)
        try files.rename(newName, in: directory.raw, to: name, in: directory.raw)
      } catch {
        try? files.removeFile(newName, in: directory.raw)
        throw error
      }
    } catch {
      throw Problem(text: "\(path) cannot be written: \(error)")
    }
  }

  /// Removes the state, where there is one.
  func remove() {
    guard let directory = try? files.open(userPath: folder, [.read, .directory]) else { return }
    try? files.removeFile(name, in: directory.raw)
  }

  /// Makes what is missing of the folder; the opening after it tells whether that did.
  private func makeFolders() {
    var prefix = ""
    for part in folder.split(separator: "/") {
      prefix += "/" + part
      try? files.makeDirectory(userPath: prefix, mode: 0o700)
    }
  }
}
