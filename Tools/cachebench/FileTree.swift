#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Makes and removes folders.
enum FileTree {
  /// Makes a folder that only its owner may enter.
  static func makeDirectory(_ path: String) throws(BenchmarkError) {
    // Safety: the path is passed as a NUL-terminated string for the call.
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .failed("\(path): cannot make the folder: \(lastSystemError())")
    }
  }

  /// Removes a folder with all that is in it; symbolic links are removed, never followed.
  static func remove(_ path: String) {
    removeContents(AT_FDCWD, path)
    // Safety: the path is passed as a NUL-terminated string for the call.
    unsafe unlinkat(AT_FDCWD, path, AT_REMOVEDIR)
  }

  /// Tells whether a folder lies on a file system in memory, where nothing here means anything.
  static func isInMemory(_ path: String) -> Bool {
    #if canImport(Darwin)
      return false
    #else
      var information = statfs()
      // Safety: the kernel fills in the one structure it is given.
      guard unsafe statfs(path, &information) == 0 else { return false }
      return information.f_type == 0x0102_1994
    #endif
  }

  /// Has the system write what it still holds back, for the file system of a folder.
  static func sync(_ path: String) {
    #if canImport(Darwin)
      Darwin.sync()
    #else
      // Safety: the path is passed as a NUL-terminated string for the call.
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      syncfs(descriptor)
      close(descriptor)
    #endif
  }

  private static func removeContents(_ parent: Int32, _ name: String) {
    // Safety: names are NUL-terminated for the calls; the stream is closed before returning, and
    // each record is used before the next one is read.
    let descriptor = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0, let stream = unsafe fdopendir(descriptor) else { return }
    defer { unsafe closedir(stream) }
    while let record = unsafe readdir(stream) {
      let child = unsafe withUnsafePointer(to: &record.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          unsafe String(cString: text)
        }
      }
      if child == "." || child == ".." { continue }
      if unsafe unlinkat(descriptor, child, 0) == 0 { continue }
      removeContents(descriptor, child)
      unsafe unlinkat(descriptor, child, AT_REMOVEDIR)
    }
  }
}
