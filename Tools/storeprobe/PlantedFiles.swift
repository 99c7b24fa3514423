import CacheSystem
import Synchronization

/// The real files, but for the bugs that are planted (`PlantedBug`).
@safe
struct PlantedFiles: FileSystem {
  private let real = RealFileSystem(repeatsInterrupted: !PlantedBug.isOn(.nointr))
  private let names = OpenNames()

  private func has(_ bug: PlantedBug) -> Bool { PlantedBug.isOn(bug) }

  /// Runs a call that changes something.
  private func change(_ body: () throws(SystemError) -> Void) throws(SystemError) {
    do throws(SystemError) {
      try body()
    } catch {
      if has(.ignoreerr) { return }
      if has(.nointr) && error == .interrupted { throw .inputOutput }
      throw error
    }
  }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    let isNewBody = options.contains(.create) && path.text.hasSuffix(".body")
    if has(.inplace) && isNewBody { removeBodies(in: directory, at: path) }
    let descriptor =
      has(.followlinks) && !options.contains(.create)
      ? try openThroughLinks(path, in: directory, options)
      : try real.openOnce(path, in: directory, options, mode: mode)
    names.set(descriptor, path.text)
    return descriptor
  }

  /// Opens a name by the path that /proc gives for its directory: links are followed.
  private func openThroughLinks(
    _ path: PathName, in directory: Int32, _ options: OpenOptions
  ) throws(SystemError) -> Int32 {
    try real.openOnce(userPath: "/proc/self/fd/\(directory)/\(path.text)", options)
  }

  private func removeBodies(in directory: Int32, at path: PathName) {
    var old: [PathName] = []
    try? real.list(directory) { name, _ in
      if name.text.hasSuffix(".body") { old.append(name) }
      return true
    }
    for name in old { try? real.removeFile(name, in: directory) }
  }

  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try real.openOnce(userPath: userPath, options)
  }

  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try real.makeDirectory(userPath: userPath, mode: mode)
  }

  func close(_ descriptor: Int32) {
    names.set(descriptor, nil)
    real.close(descriptor)
  }

  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }

  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    var place = offset
    if has(.tornblind) && offset ?? 0 > 0 && isSegment(descriptor) {
      place = try real.length(of: descriptor)
    }
    do throws(SystemError) {
      let count = unsafe try real.writeOnce(descriptor, from: buffer, at: place)
      return has(.shortok) ? buffer.count : count
    } catch {
      if has(.ignoreerr) { return buffer.count }
      if has(.nointr) && error == .interrupted { throw .inputOutput }
      throw error
    }
  }

  private func isSegment(_ descriptor: Int32) -> Bool {
    names.get(descriptor)?.hasSuffix(".log") == true
  }

  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try real.length(of: descriptor)
  }

  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    if has(.tornblind) { return }
    try change { () throws(SystemError) in try real.truncateOnce(descriptor, to: length) }
  }

  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    if has(.nofsync) { return }
    let isDirectory = try real.status(of: descriptor).kind == .directory
    if has(isDirectory ? .nodirsync : .nodatasync) { return }
    try change { () throws(SystemError) in try real.synchronizeOnce(descriptor, names: names) }
  }

  func synchronizeVolume(of descriptor: Int32) throws(SystemError) {
    if has(.nofsync) { return }
    try change { () throws(SystemError) in try real.synchronizeVolume(of: descriptor) }
  }

  func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try real.status(of: descriptor)
  }

  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try real.status(at: name, in: directory)
  }

  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try real.volume(of: descriptor)
  }

  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError) {
    do throws(SystemError) {
      try real.makeDirectory(name, in: directory, mode: mode)
    } catch {
      // That it exists is an answer, and no failure.
      if has(.ignoreerr) && error != .exists { return }
      throw error
    }
  }

  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try change { () throws(SystemError) in try real.removeFile(name, in: directory) }
  }

  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try change { () throws(SystemError) in try real.removeDirectory(name, in: directory) }
  }

  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try change { () throws(SystemError) in
      try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
    }
  }

  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try change { () throws(SystemError) in
      try real.link(from, in: fromDirectory, to: to, in: toDirectory)
    }
  }

  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try change { () throws(SystemError) in
      try real.changeMode(at: name, in: directory, to: mode)
    }
  }

  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    if has(.nolock) { return }
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }

  func unlock(_ descriptor: Int32) {
    if !has(.nolock) { real.unlock(descriptor) }
  }

  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try real.list(descriptor, body)
  }
}

private final class OpenNames: Sendable {
  private let names = Mutex<[Int32: String]>([:])

  func get(_ descriptor: Int32) -> String? { names.withLock { $0[descriptor] } }

  func set(_ descriptor: Int32, _ name: String?) { names.withLock { $0[descriptor] = name } }
}
