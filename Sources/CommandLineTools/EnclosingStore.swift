internal import CLibrary
internal import CacheFormat
internal import CacheSystem

/// Throws if a file or folder is in the folder of a store, or would be: it could replace a part of the
/// store, and a repair would move it away.
///
/// - Parameter isRead: whether a file that is there is only read, so that it may be anywhere.
/// - Throws: ``OutputError`` that names the store.
package func checkOutsideStores(
  _ path: Argument, isRead: Bool = false
) throws(OutputError) {
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
///
/// - Complexity: O(folders above it).
func enclosingStore(of path: Argument) -> Argument? {
  var folder = existingPart(of: path.bytes)
  while !isStore(folder) {
    guard folder.count > 1, let end = folder.lastIndex(of: slash) else { return nil }
    folder.removeSubrange(max(1, end)...)
  }
  return Argument(bytes: folder)
}

private let slash = UInt8(ascii: "/")

/// Returns the part of a path that exists, without links. Each folder that is made later will be a new
/// one in the folder before, so `..` leads back from it.
private func existingPart(of path: [UInt8]) -> [UInt8] {
  var folder = path.first == slash ? [slash] : UserPath.real([UInt8(ascii: ".")]) ?? [slash]
  var missing = 0
  for part in path.split(separator: slash) {
    if missing == 0, let next = UserPath.real(folder + [slash] + part) {
      folder = next
    } else if part.elementsEqual("..".utf8) {
      missing -= 1
    } else if !part.elementsEqual(".".utf8) {
      missing += 1
    }
  }
  return folder
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
