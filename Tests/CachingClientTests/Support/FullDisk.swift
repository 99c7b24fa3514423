import CacheSystem
import Foundation
import Synchronization

/// The real file system, on which nothing can be written any more once the disk is full, and which
/// counts its open descriptors.
@safe
struct FullDisk: FileSystem {
  private let real = RealFileSystem()
  private let full = Full()

  /// Holds what all copies share.
  private final class Full: Sendable {
    let isFull = Atomic<Bool>(false)
    let descriptors = Atomic<Int>(0)
  }

  /// Tells whether the disk is full.
  var isFull: Bool {
    get { full.isFull.load(ordering: .relaxed) }
    nonmutating set { full.isFull.store(newValue, ordering: .relaxed) }
  }

  /// Counts the descriptors that are open.
  var descriptors: Int { full.descriptors.load(ordering: .sequentiallyConsistent) }

  private func counted(_ descriptor: Int32) -> Int32 {
    full.descriptors.add(1, ordering: .sequentiallyConsistent)
    return descriptor
  }

  private func takeRoom() throws(SystemError) {
    if isFull { throw SystemError(ENOSPC) }
  }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    try counted(real.openOnce(path, in: directory, options, mode: mode))
  }

  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try counted(real.openOnce(userPath: userPath, options))
  }

  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try real.makeDirectory(userPath: userPath, mode: mode)
  }

  func close(_ descriptor: Int32) {
    real.close(descriptor)
    full.descriptors.subtract(1, ordering: .sequentiallyConsistent)
  }

  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }

  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try takeRoom()
    return unsafe try real.writeOnce(descriptor, from: buffer, at: offset)
  }

  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try real.length(of: descriptor)
  }

  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try real.truncateOnce(descriptor, to: length)
  }

  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try real.synchronizeOnce(descriptor, names: names)
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
    try takeRoom()
    try real.makeDirectory(name, in: directory, mode: mode)
  }

  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeFile(name, in: directory)
  }

  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeDirectory(name, in: directory)
  }

  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }

  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try takeRoom()
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }

  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try real.changeMode(at: name, in: directory, to: mode)
  }
  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }

  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }

  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }

  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }

  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try real.list(descriptor, body)
  }
}
