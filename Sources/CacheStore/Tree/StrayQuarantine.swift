internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The quarantine of files that do not belong to the store. They are not opened, but renamed to
/// `quarantine/foreign-<8 digits>/files/<name>`. A note beside them has the place that they came
/// from (Docs/Format.md, "The tree").
///
/// Files from one directory are moved into one directory, so that a million files need one note.
package final class StrayQuarantine: Sendable {
  let fileSystem: any FileSystem
  private let clock: any WallClock
  /// The directories of the quarantine for files from the last sources.
  private let last = Mutex<[(source: [UInt8], name: PathName)]>([])
  /// The most sources whose directory is remembered.
  private static let maximumBins = 16
  private static let files = PathName("files")

  package init(_ fileSystem: any FileSystem, _ clock: any WallClock) {
    self.fileSystem = fileSystem
    self.clock = clock
  }

  /// Moves one file or directory.
  ///
  /// - Parameters:
  ///   - path: the path of `directory` below the store, for the note.
  ///   - quarantine: the quarantine of the store.
  /// - Throws: an error also if the quarantine is on another volume.
  package func move(
    _ name: PathName, in directory: Int32, of path: [UInt8], to quarantine: borrowing Descriptor
  ) throws(SystemError) {
    let bin = last.withLock { $0.first { $0.source == path } }
    if let bin, try move(name, in: directory, to: bin.name, quarantine) { return }
    let made = try makeBin(path, quarantine)
    last.withLock { bins in
      bins.removeAll { $0.source == path }
      if bins.count >= Self.maximumBins { bins.removeFirst() }
      bins.append((path, made))
    }
    guard try move(name, in: directory, to: made, quarantine) else { throw .exists }
  }

  /// Frees a name: removes a file or an empty directory, and moves any other directory to the
  /// quarantine.
  ///
  /// - Parameter path: the path of `directory` below the store.
  func free(
    _ name: PathName, in directory: borrowing Descriptor, of path: [UInt8],
    to quarantine: borrowing Descriptor
  ) throws(SystemError) {
    if try fileSystem.isDirectoryLeft(name, in: directory.raw) {
      try move(name, in: directory.raw, of: path, to: quarantine)
    }
  }

  /// Moves one file or directory into a directory of the quarantine.
  ///
  /// - Returns: false if the name is in use there, or that directory is gone.
  private func move(
    _ name: PathName, in directory: Int32, to bin: PathName, _ quarantine: borrowing Descriptor
  ) throws(SystemError) -> Bool {
    var path = bin
    path.append("/files")
    guard let target = try? fileSystem.open(path, in: quarantine, [.read, .directory]),
      (try? fileSystem.status(at: name, in: target.raw)) == nil
    else { return false }
    do throws(SystemError) {
      try fileSystem.rename(name, in: directory, to: name, in: target.raw)
    } catch  where error.isPermission && isDirectory(name, in: directory) {
      // Moving a directory changes its `..`, which its mode may forbid.
      try fileSystem.changeMode(at: name, in: directory, to: StorePlace.directoryMode)
      try fileSystem.rename(name, in: directory, to: name, in: target.raw)
    }
    return true
  }

  private func isDirectory(_ name: PathName, in directory: Int32) -> Bool {
    (try? fileSystem.status(at: name, in: directory))?.kind == .directory
  }

  private func makeBin(
    _ path: [UInt8], _ quarantine: borrowing Descriptor
  ) throws(SystemError) -> PathName {
    var name = PathName("foreign-")
    name.appendHex(.random(in: .min ... .max), digits: 8)
    try fileSystem.makeDirectory(name, in: quarantine.raw, mode: StorePlace.directoryMode)
    let bin: Descriptor
    do throws(SystemError) {
      bin = try fileSystem.open(name, in: quarantine, [.read, .directory])
    } catch {
      try? fileSystem.removeDirectory(name, in: quarantine.raw)
      throw error
    }
    let place = path.isEmpty ? "the top of the store" : Self.printable(path)
    let text = """
      Set aside on \(Timestamp(nanoseconds: clock.now())): what stands in `files` is no part of a store.
      It came from \(place)

      """
    // If the disk is full, the file is moved without a note.
    try? fileSystem.writeNew(Layout.note, in: bin, Array(text.utf8))
    try fileSystem.makeDirectory(Self.files, in: bin.raw, mode: StorePlace.directoryMode)
    return name
  }

  /// Returns a path in which all bytes are escaped that are not printable ASCII.
  private static func printable(_ path: [UInt8]) -> String {
    path.reduce(into: "") { text, byte in
      if byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "\\x" + [byte].hexadecimal
      }
    }
  }
}
