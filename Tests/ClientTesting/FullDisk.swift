package import CacheSystem
import Foundation
import Synchronization

/// The real file system, on which nothing can be written any more once the disk is full, and which
/// counts its open descriptors.
@safe
package struct FullDisk: FileSystem {
  private let real = RealFileSystem()
  private let full = Full()

  /// Holds what all copies share.
  private final class Full: Sendable {
    let isFull = Atomic<Bool>(false)
    let descriptors = Atomic<Int>(0)
  }

  package init() {}

  /// Tells whether the disk is full.
  package var isFull: Bool {
    get { full.isFull.load(ordering: .relaxed) }
    nonmutating set { full.isFull.store(newValue, ordering: .relaxed) }
  }

  /// Counts the descriptors that are open.
  package var descriptors: Int { full.descriptors.load(ordering: .sequentiallyConsistent) }

  private func counted(_ descriptor: Int32) -> Int32 {
    full.descriptors.add(1, ordering: .sequentiallyConsistent)
    return descriptor
  }

  private func takeRoom() throws(SystemError) {
    if isFull { throw SystemError(ENOSPC) }
  }

  package func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    try counted(real.openOnce(path, in: directory, options, mode: mode))
  }

  package func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try counted(real.openOnce(userPath: userPath, options))
  }

  package func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try real.makeDirectory(userPath: userPath, mode: mode)
  }

  package func close(_ descriptor: Int32) {
    real.close(descriptor)
    full.descriptors.subtract(1, ordering: .sequentiallyConsistent)
  }

  package func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }

  package func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try takeRoom()
    return unsafe try real.writeOnce(descriptor, from: buffer, at: offset)
  }

  package func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try real.length(of: descriptor)
  }

  package func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try real.truncateOnce(descriptor, to: length)
  }

  package func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try real.synchronizeOnce(descriptor, names: names)
  }

  package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try real.status(of: descriptor)
  }

  package func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try real.status(at: name, in: directory)
  }

  package func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try real.volume(of: descriptor)
  }

  package func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16)
    throws(SystemError)
  {
    try takeRoom()
    try real.makeDirectory(name, in: directory, mode: mode)
  }

  package func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeFile(name, in: directory)
  }

  package func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeDirectory(name, in: directory)
  }

  package func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }

  package func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try takeRoom()
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }

  package func changeMode(at name: PathName, in directory: Int32, to mode: UInt16)
    throws(SystemError)
  {
    try real.changeMode(at: name, in: directory, to: mode)
  }
  package func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }

  package func unlock(_ descriptor: Int32) { real.unlock(descriptor) }

  package func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }

  package func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }

  package func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try real.list(descriptor, body)
  }
}
