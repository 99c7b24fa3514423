internal import CacheSystem

/// Reads a body that a `BodyWriter` writes, from any place that has been written.
///
/// It stays readable when the writer has committed or discarded the body: the file has lost its
/// name then, not its bytes. Safe to use from many threads.
public final class StagedBody: Sendable {
  let file: Descriptor
  let path: String
  private let fileSystem: any FileSystem

  init(_ file: consuming Descriptor, fileSystem: any FileSystem, path: String) {
    self.file = file
    self.fileSystem = fileSystem
    self.path = path
  }

  /// Reads up to `count` bytes from an offset; fewer only where no more are written.
  ///
  /// - Throws: `inputOutput`.
  public func read(at offset: UInt64, upTo count: Int) throws(StoreError) -> [UInt8] {
    try system(path) { () throws(SystemError) in
      try fileSystem.readBytes(file, count: count, at: Int64(clamping: offset))
    }
  }
}
