internal import CacheFormat
internal import CacheSystem

/// A small file in the user's folder for the state of programs, where interrupted work says how far
/// it was.
package struct StateFile: Sendable {
  /// Why the file cannot be used, in words.
  package struct Problem: Error, Sendable {
    package var text: String

    /// Makes a problem.
    package init(text: String) { self.text = text }
  }

  private let folder: String
  private let name: PathName
  private let newName: PathName
  private var files: RealFileSystem { RealFileSystem() }

  /// Chooses the file with a name; nothing is read or made yet.
  ///
  /// - Throws: where the environment names no folder.
  package init(named stem: String) throws(Problem) {
    folder = try Self.folder()
    let new = Array("\(stem).\(UInt64.random(in: .min ... .max)).new".utf8)
    guard let name = PathName(bytes: Array(stem.utf8)), let newName = PathName(bytes: new) else {
      throw Problem(text: "'\(stem)' is no name")
    }
    self.name = name
    self.newName = newName
  }

  /// The path, for messages.
  package var path: String { "\(folder)/\(name.text)" }

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

  /// Reads the id of a store, after which the file of its work is named.
  ///
  /// - Throws: where store.json does not tell it.
  package static func storeID(_ path: String) throws(Problem) -> String {
    let files = RealFileSystem()
    guard let root = try? files.open(userPath: path, [.read, .directory]),
      let bytes = try? files.readFile(
        PathName("store.json"), in: root, limit: StoreDescription.maximumBytes),
      let description = try? StoreDescription(decoding: bytes)
    else { throw Problem(text: "store.json does not tell the id of the store") }
    return description.id.description
  }

  /// Reads the file; nil where there is none.
  ///
  /// - Throws: where it cannot be read, is longer than a limit, or others may have written it.
  package func load(limit: Int) throws(Problem) -> [UInt8]? {
    do throws(SystemError) {
      let directory = try files.open(userPath: folder, [.read, .directory])
      var status: FileStatus?
      let bytes = try files.readFile(name, in: directory, limit: limit, &status)
      guard let status, status.isPrivateFile, status.linkCount == 1 else {
        throw SystemError.othersFile
      }
      return bytes
    } catch  where error == .othersFile {
      throw Problem(text: "\(path) may have been written by others; remove it")
    } catch  where error == .notFound {
      return nil
    } catch {
      throw Problem(text: "\(path) cannot be read: \(error)")
    }
  }

  /// Replaces the file, by rename, so that a kill leaves the old one or the new one.
  package func save(_ bytes: [UInt8]) throws(Problem) {
    do throws(SystemError) {
      makeFolders()
      let directory = try files.open(userPath: folder, [.read, .directory])
      try files.replace(name, in: directory, with: bytes, through: newName)
    } catch {
      throw Problem(text: "\(path) cannot be written: \(error)")
    }
  }

  /// Removes the file, where there is one.
  package func remove() {
    guard let directory = try? files.open(userPath: folder, [.read, .directory]) else { return }
    try? files.removeFile(name, in: directory.raw)
  }

  /// Makes what is missing of the folder; the opening after it tells whether that did.
  private func makeFolders() {
    var prefix = ""
    for part in folder.utf8.split(separator: UInt8(ascii: "/")) {
      prefix += "/" + String(Substring(part))
      try? files.makeDirectory(userPath: prefix, mode: 0o700)
    }
  }
}
