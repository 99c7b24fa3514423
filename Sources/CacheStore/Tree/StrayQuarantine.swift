internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// Moves what is none of the store's out of the way, unopened, by one rename each: into
/// `quarantine/foreign-<8 digits>/files/<its name>`, with a note beside that says where it was
/// (Docs/Format.md, "The tree").
///
/// What comes from one directory goes into one, so that a million files need one note.
package final class StrayQuarantine: Sendable {
  /// The directory of the quarantine that takes what comes from `source`.
  private struct Bin {
    var source: [UInt8]
    var name: PathName
  }

  private let fileSystem: any FileSystem
  private let clock: any WallClock
  private let last = Mutex<[Bin]>([])
  /// The sources that are remembered; one more begins a directory of its own.
  private static let maximumBins = 16
  private static let files = PathName("files")

  package init(_ fileSystem: any FileSystem, _ clock: any WallClock) {
    self.fileSystem = fileSystem
    self.clock = clock
  }

  /// Moves one name.
  ///
  /// - Parameters:
  ///   - path: the path of `directory` below the store, for the note.
  ///   - quarantine: the quarantine of the store.
  /// - Throws: also where the directory is not on the same volume.
  package func move(
    _ name: PathName, in directory: Int32, of path: [UInt8], to quarantine: borrowing Descriptor
  ) throws(SystemError) {
    let bin = last.withLock { $0.first { $0.source == path } }
    if let bin, try move(name, in: directory, to: bin.name, quarantine) { return }
    let made = try makeBin(path, quarantine)
    last.withLock { bins in
      bins.removeAll { $0.source == path }
      if bins.count >= Self.maximumBins { bins.removeFirst() }
      bins.append(Bin(source: path, name: made))
    }
    guard try move(name, in: directory, to: made, quarantine) else { throw .exists }
  }

  /// Removes a file that has a name; a directory that is not empty is moved to the quarantine.
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

  /// - Returns: false where the name is taken there, or the directory has gone.
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
      // The `..` of a directory is written, too, which its mode may forbid.
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
    let bin = try fileSystem.open(name, in: quarantine, [.read, .directory])
    let place = path.isEmpty ? "the top of the store" : Self.printable(path)
    let text = """
      Set aside on \(Timestamp(nanoseconds: clock.now())): what stands in `files` is no part of a store.
      It came from \(place)

      """
    // On a full disk it is better moved without a note than not at all.
    try? fileSystem.writeNew(Layout.note, in: bin, Array(text.utf8))
    try fileSystem.makeDirectory(Self.files, in: bin.raw, mode: StorePlace.directoryMode)
    return name
  }

  /// A path with what is not printable ASCII escaped.
  private static func printable(_ path: [UInt8]) -> String {
    path.reduce(into: "") { text, byte in
      if byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16)
        text += "\\x" + (digits.count < 2 ? "0" : "") + digits
      }
    }
  }
}
