internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// The files that have the body of an entry.
extension Store {
  /// The most entries whose body file is tried for a damaged body.
  private static var maximumSharers: Int { 1024 }

  /// Returns whether a file has exactly the body with a digest and a length.
  ///
  /// - Parameter cut: whether it may go on after the body.
  func hasBody(
    _ name: PathName, in directory: borrowing Descriptor, _ digest: Digest, length: UInt64,
    cut: Bool = false
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      let file = try fileSystem.open(name, in: directory, [.read])
      let status = try fileSystem.status(of: file.raw)
      guard status.kind == .file, status.length == length || cut && status.length > length
      else { return false }
      return try fileSystem.holdsBody(file, digest, count: length, hashSeed: hashSeed)
    } catch  where error == .notFound || error.isWrongKind { return false }
  }

  /// Looks for an entry of another key that had the same body file, and calls `take` with the path of its
  /// file in `entries` until that returns true.
  ///
  /// Other entries with the same digest are not used. The bytes of these were compared when the link was
  /// made; those of others may differ, because a digest can be forged.
  ///
  /// - Returns: false if no file is right.
  /// - Throws: the last error if no other file is right: one that cannot be read now may be.
  func findShared(
    _ slot: Slot, _ take: (PathName) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    let entries = catalog.entriesDirectory
    var tried: Set<FileIdentity> = []
    var failure: StoreError?
    for other in recovery.sharers(of: slot, most: Self.maximumSharers)
    where other.keyHash != slot.keyHash {
      let path = Layout.bodyPath(other.keyHash, other.digest)
      do throws(StoreError) {
        let found = try guarded(Layout.entries.bytes + [0x2F] + path.bytes) {
          () throws(SystemError) -> FileStatus? in
          do throws(SystemError) {
            return try fileSystem.status(at: path, in: entries.directory.raw)
          } catch  where error == .notFound || error.isWrongKind { return nil }
        }
        guard let found, found.kind == .file, found.length == slot.length,
          tried.insert(found.identity).inserted
        else { continue }
        if try take(path) { return true }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return false
  }

  /// Runs system calls, and adds a path below the store to their error.
  func guarded<R: ~Copyable>(
    _ path: [UInt8], _ body: () throws(SystemError) -> R
  ) throws(StoreError) -> R {
    do throws(SystemError) { return try body() } catch {
      throw StoreError(error, path: "\(self.path)/\(String(decoding: path, as: UTF8.self))")
    }
  }
}
