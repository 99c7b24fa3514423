internal import CacheFormat
internal import CacheSystem

/// A small file in the user's folder for program state, which keeps the progress of interrupted
/// work.
package struct StateFile: Sendable {
  /// The reason why the file cannot be used, as text.
  package struct Problem: Error, Sendable {
    package var text: String
    /// Whether others may have read a secret.
    package var isExposed = false
    /// Whether the environment names no folder.
    package var lacksFolder = false

    package init(text: String) { self.text = text }
  }

  private let folder: String
  private let name: PathName
  private let newName: PathName
  private var files: RealFileSystem { RealFileSystem() }

  /// Creates the file for a name. Nothing is read or written yet.
  ///
  /// - Throws: ``Problem`` if the environment names no folder.
  package init(named stem: String) throws(Problem) {
    try self.init(named: stem, in: UserPath.stateFolder)
  }

  /// Creates the file in a folder; `nil` if the environment names none.
  init(named stem: String, in folder: String?) throws(Problem) {
    guard let folder else {
      var problem = Problem(text: "neither XDG_STATE_HOME nor HOME names a folder")
      problem.lacksFolder = true
      throw problem
    }
    self.folder = folder
    let new = Array("\(stem).new".utf8)
    guard let name = PathName(bytes: Array(stem.utf8)), let newName = PathName(bytes: new),
      !stem.utf8.contains(UInt8(ascii: "/")), ![".", ".."].contains(stem)
    else {
      throw Problem(text: "'\(stem)' is no name")
    }
    self.name = name
    self.newName = newName
  }

  package var path: String { "\(folder)/\(name.text)" }

  /// Reads the id of a store, which is part of the names of state files.
  ///
  /// - Throws: ``Problem`` if store.json has no id.
  package static func storeID(_ path: String) throws(Problem) -> String {
    let files = RealFileSystem()
    guard let root = try? files.open(userPath: path, [.read, .directory]),
      let bytes = try? files.readFile(
        PathName("store.json"), in: root, limit: StoreDescription.maximumBytes),
      let description = try? StoreDescription(decoding: bytes)
    else { throw Problem(text: "store.json does not tell the id of the store") }
    return description.id.description
  }

  /// Reads the file; returns `nil` if there is none.
  ///
  /// - Parameters:
  ///   - limit: The most bytes that it may have.
  ///   - isSecret: Whether nobody else may be able to read it.
  /// - Throws: ``Problem`` if it cannot be read, is longer than the limit, or others may have
  ///   written it, or read it if it is secret.
  package func load(limit: Int, isSecret: Bool = false) throws(Problem) -> [UInt8]? {
    var status: FileStatus?
    let bytes: [UInt8]
    do throws(SystemError) {
      let directory = try files.open(userPath: folder, [.read, .directory])
      bytes = try files.readFile(name, in: directory, limit: limit, &status)
      guard let status, status.isPrivateFile, status.linkCount == 1 else {
        throw SystemError.othersFile
      }
    } catch  where error == .othersFile {
      throw Problem(text: "\(path) may have been written by others; remove it")
    } catch  where error == .notFound {
      return nil
    } catch {
      throw Problem(text: "\(path) cannot be read: \(error)")
    }
    if isSecret, let status, !status.isSecretFile {
      var problem = Problem(
        text: "\(path) can be read by others (mode \(String(status.mode, radix: 8)))")
      problem.isExposed = true
      throw problem
    }
    return bytes
  }

  /// Replaces the file with a rename, so that after a kill it is the old one or the new one.
  package func save(_ bytes: [UInt8]) throws(Problem) {
    if let store = enclosingStore(of: Argument(folder)) {
      throw Problem(text: "\(path) would be in the folder of the store \(store)")
    }
    do throws(SystemError) {
      files.makeFolders(folder)
      let directory = try files.open(userPath: folder, [.read, .directory])
      try files.replace(name, in: directory, with: bytes, through: newName)
    } catch {
      throw Problem(text: "\(path) cannot be written: \(error)")
    }
  }

  /// Removes the file, if there is one. Errors are not reported.
  package func remove() { _ = try? removeIfThere() }

  /// Removes the file; returns false if there is none.
  ///
  /// - Throws: ``Problem`` if it cannot be removed.
  package func removeIfThere() throws(Problem) -> Bool {
    do throws(SystemError) {
      let directory = try files.open(userPath: folder, [.read, .directory])
      try files.removeFile(name, in: directory.raw)
      return true
    } catch  where error == .notFound {
      return false
    } catch {
      throw Problem(text: "\(path) cannot be removed: \(error)")
    }
  }
}
