internal import CLibrary

// In a folder that other users may write to, another user may have created a file first.
extension FileStatus {
  /// Whether the file belongs to the effective user of this process.
  package var isOwn: Bool { owner == geteuid() }

  package var isOwnFile: Bool { kind == .file && isOwn }

  /// Whether the file is such a file that nobody else may write to.
  package var isPrivateFile: Bool { isOwnFile && mode & 0o022 == 0 }

  /// Whether the file is such a file that nobody else may read, either.
  package var isSecretFile: Bool { isPrivateFile && mode & 0o077 == 0 }

  /// Returns whether a user who may write to the folder may also replace this file. If the sticky
  /// bit of the folder is set, other users' files cannot be replaced; see chmod(2).
  package func isReplaceable(in folder: FileStatus, by user: UInt32? = nil) -> Bool {
    let user = user ?? geteuid()
    return user == 0 || user == owner || user == folder.owner || folder.mode & 0o1000 == 0
  }

  /// Returns whether the file may have been planted: the folder is writable for others, and the
  /// owner of the file is neither `user`, nor root, nor the owner of the folder.
  package func isPlanted(in folder: FileStatus, for user: UInt32? = nil) -> Bool {
    let user = user ?? geteuid()
    return owner != user && owner != 0 && owner != folder.owner && folder.mode & 0o022 != 0
  }
}

extension SystemError {
  /// The file belongs to another user, who may have planted it.
  package static let othersFile = SystemError(EPERM)
}

package enum UserPath {
  /// Splits a path into its folder, `.` if the path is only a name, and its last part.
  package static func split(_ path: [UInt8]) -> (folder: [UInt8], name: [UInt8]) {
    let slash = UInt8(ascii: "/")
    guard let end = path.lastIndex(of: slash) else { return ([UInt8(ascii: ".")], path) }
    return (end == 0 ? [slash] : Array(path[..<end]), Array(path[(end + 1)...]))
  }

  package static func split(_ path: String) -> (folder: String, name: String) {
    let (folder, name) = split(Array(path.utf8))
    return (String(decoding: folder, as: UTF8.self), String(decoding: name, as: UTF8.self))
  }

  /// Returns whether the file at a path, or the last link that leads to it, may have been planted;
  /// false if there is no file.
  package static func isPlanted(_ path: String) -> Bool { isPlanted(Array(path.utf8)) }

  /// Returns the same for a path that need not be text.
  package static func isPlanted(_ path: [UInt8]) -> Bool {
    isPlantedLink(path) || isPlanted(try? RealFileSystem().status(userPath: path), path)
  }

  /// Returns whether a path is a link that may have been planted. The system does not follow such
  /// links (proc(5), `protected_symlinks`), but realpath(3) does.
  package static func isPlantedLink(_ path: [UInt8]) -> Bool {
    let found = try? RealFileSystem().status(userPath: path, followsLink: false)
    return found?.kind == .link && isPlanted(found, path)
  }

  /// Returns the first part of a path that may have been planted to get what is written there: a
  /// link, a pipe, or where everyone may write a folder; `nil` if there is none. A regular file does not
  /// count, because it is replaced, or checked when it is opened; nor does a folder in which the path
  /// goes on, without a link, to one of the user's own.
  ///
  /// A missing folder counts as in ``upwards(from:)``, because whoever writes there makes it.
  package static func planted(on path: [UInt8]) -> [UInt8]? {
    // As many links as Linux follows; path_resolution(7).
    var links = 40
    return planted(on: path, following: &links).last ?? nil
  }

  /// Returns for each folder from the beginning of the path, or of what its last link leads to, down to
  /// the end: the planted part that it is in, or `nil`. The last one is that of the path.
  private static func planted(on path: [UInt8], following links: inout Int) -> [[UInt8]?] {
    let slash = UInt8(ascii: "/")
    var place: [UInt8] = []
    var planted: [[UInt8]?] = [nil]
    for part in path.split(separator: slash) where !part.elementsEqual(".".utf8) {
      let before = place
      if !place.isEmpty || path.first == slash { place.append(slash) }
      place += part
      let found = try? RealFileSystem().status(userPath: place, followsLink: false)
      // The folder above has another owner for good reasons.
      if part.elementsEqual("..".utf8) {
        // What is planted may be replaced, so `..` may lead anywhere from there.
        let left = planted.removeLast()
        let above = planted.popLast() ?? nil
        planted.append(left ?? above)
        if found == nil { place = split(before).folder }
        continue
      }
      var around = planted[planted.count - 1]
      if let found, found.kind != .file {
        if around == nil, mayBePlanted(found, place) { around = place }
        if found.kind == .directory, found.isOwn { around = nil }
        if found.kind == .link, around == nil {
          // One's own link may lead to a planted one.
          guard links > 0 else { return [place] }
          links -= 1
          if let target = linkTarget(place) {
            let start = target.first == slash ? [] : split(place).folder + [slash]
            planted = Self.planted(on: start + target, following: &links)
            if planted[planted.count - 1] == nil { continue } else { break }
          }
        }
      }
      planted.append(around)
      if found?.kind == .link, around != nil { break }
    }
    return planted
  }

  private static func mayBePlanted(_ file: FileStatus, _ path: [UInt8]) -> Bool {
    let folder = try? RealFileSystem().status(userPath: split(path).folder)
    guard let folder, file.isPlanted(in: folder) else { return false }
    // The members of a group work together.
    return file.kind != .directory || folder.mode & 0o002 != 0
  }

  /// Returns whether a path has links that lead in a circle, or more of them than the system follows.
  package static func isLoop(_ path: [UInt8]) -> Bool {
    do throws(SystemError) {
      _ = try RealFileSystem().status(userPath: path)
      return false
    } catch {
      return error == SystemError(ELOOP)
    }
  }

  /// Returns what a symbolic link leads to, or `nil` if there is no link at the path; readlink(2).
  package static func linkTarget(_ path: [UInt8]) -> [UInt8]? {
    let target = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      // Safety: readlink writes at most as many bytes as the buffer has; CChar is one byte.
      let raw = UnsafeMutableRawBufferPointer(buffer)
      let start = unsafe raw.assumingMemoryBound(to: CChar.self).baseAddress!
      count = unsafe max(0, withPath(path) { unsafe readlink($0, start, raw.count) })
    }
    return target.isEmpty ? nil : target
  }

  /// Returns the path of an existing file without links, `.` and `..`; `nil` if there is no file.
  /// realpath(3).
  package static func real(_ path: [UInt8]) -> [UInt8]? {
    // Safety: realpath returns a zero-terminated string of its own, freed here after the copy.
    unsafe withPath(path) { start in
      guard let real = unsafe realpath(start, nil) else { return nil }
      defer { unsafe free(real) }
      return unsafe Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))
    }
  }

  /// Returns a path without links, `.` and `..`, and then the folders above it, up to the root.
  ///
  /// Missing folders count as if they were made: each of them will be a new one in the folder before,
  /// so `..` leads back from it.
  ///
  /// - Complexity: O(folders of the path).
  package static func upwards(from path: [UInt8]) -> [[UInt8]] {
    let slash = UInt8(ascii: "/")
    var place = path.first == slash ? [slash] : real([UInt8(ascii: ".")]) ?? [slash]
    for part in path.split(separator: slash) {
      let next = (place == [slash] ? [] : place) + [slash] + part
      if let next = real(next) {
        place = next
      } else if part.elementsEqual("..".utf8) {
        place = split(place).folder
      } else if !part.elementsEqual(".".utf8) {
        place = next
      }
    }
    return Array(sequence(first: place) { $0 == [slash] ? nil : split($0).folder })
  }

  /// Throws the error with which a file cannot be opened for writing, or a file cannot be made in a
  /// folder, without writing; faccessat(2).
  package static func checkWritable(_ path: String) throws(SystemError) {
    let kind = try RealFileSystem().status(userPath: path).kind
    let mode = kind == .directory ? W_OK | X_OK : W_OK
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    guard unsafe faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 else { throw SystemError(errno) }
  }

  private static func isPlanted(_ file: FileStatus?, _ path: [UInt8]) -> Bool {
    guard let file, let folder = try? RealFileSystem().status(userPath: split(path).folder) else {
      return false
    }
    return file.isPlanted(in: folder)
  }
}
