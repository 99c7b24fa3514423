internal import CLibrary
internal import CacheFormat
internal import CacheSystem

/// Throws if a file or folder is in the folder of a store, or would be: it could replace a part of the
/// store, and a repair would move it away.
///
/// - Parameter isRead: whether a file that is there is only read, so that it may be anywhere.
/// - Throws: ``OutputError`` that names the store.
package func checkOutsideStores(_ path: Argument, isRead: Bool = false) throws(OutputError) {
  if isRead, UserPath.real(path.bytes) != nil { return }
  if let store = enclosingStore(of: path) {
    throw OutputError(path: path.description, inStore: store)
  }
}

/// Throws if a path is in the folder of a store, unless it is that of a store itself.
///
/// - Throws: ``OutputError`` that names the store.
package func checkOutsideOtherStores(_ path: Argument) throws(OutputError) {
  if !isStore(path.bytes) { try checkOutsideStores(path) }
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
