internal import CLibrary
internal import CacheFormat
internal import CacheSystem

/// Throws if the user has named a path to which nothing must be written.
///
/// In the folder of a store, a file could replace a part of the store, and a repair would move it
/// away. What another user may have planted could lead anywhere.
///
/// - Parameter isRead: whether a file that is there is only read, so that it may be anywhere.
/// - Throws: ``OutputError`` that names the store, or what may be planted.
package func checkOutput(_ path: Argument, isRead: Bool = false) throws(OutputError) {
  if isRead, UserPath.real(path.bytes) != nil { return }
  if let planted = UserPath.planted(on: path.bytes) {
    if UserPath.isLoop(path.bytes) { throw OutputError(path: path.description, errno: ELOOP) }
    throw OutputError(path: path.description, planted: Argument(bytes: planted))
  }
  if let store = enclosingStore(of: path) {
    throw OutputError(path: path.description, inStore: store)
  }
}

/// Throws the same for the path of a store, unless it is there already.
///
/// - Throws: ``OutputError`` that names the other store, or what may be planted.
package func checkStore(_ path: Argument) throws(OutputError) {
  if !isStore(path.bytes) { try checkOutput(path) }
}

/// Returns the store in whose folder a path is, or would be; `nil` if there is none.
func enclosingStore(of path: Argument) -> Argument? {
  UserPath.upwards(from: path.bytes).first(where: isStore).map { Argument(bytes: $0) }
}

/// Returns whether there is the folder of a store at a path. One whose store.json is damaged is not
/// recognised.
private func isStore(_ path: [UInt8]) -> Bool {
  let files = RealFileSystem()
  guard let raw = try? openPath(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) else { return false }
  let bytes = try? files.readFile(
    PathName("store.json"), in: Descriptor(raw, of: files), limit: StoreDescription.maximumBytes)
  return bytes.map { StoreDescription.isDescription($0) } ?? false
}
