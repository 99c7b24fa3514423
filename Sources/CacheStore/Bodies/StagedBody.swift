internal import CacheSystem

/// A reader of a body that a `BodyWriter` is writing, at any offset that has been written.
///
/// The body stays readable after the writer has committed or discarded it, because the file stays
/// open. May be used by many threads at once.
public final class StagedBody: Sendable {
  let file: Descriptor
  let path: String
  private let fileSystem: any FileSystem

  init(_ file: consuming Descriptor, fileSystem: any FileSystem, path: String) {
    self.file = file
    self.fileSystem = fileSystem
    self.path = path
  }

  /// Reads up to `count` bytes from an offset. Returns fewer bytes only if no more have been
  /// written.
  ///
  /// - Throws: `inputOutput`.
  public func read(at offset: UInt64, upTo count: Int) throws(StoreError) -> [UInt8] {
    try system(path) { () throws(SystemError) in
      let length = try fileSystem.status(of: file.raw).length
      let rest = Int(clamping: length - min(length, offset))
      return try fileSystem.readBytes(
        file, count: max(0, min(count, rest)), at: Int64(clamping: offset))
    }
  }
}
