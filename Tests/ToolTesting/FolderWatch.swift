#if os(Linux)
  import CLibrary
  import Testing

  /// Tells a thread that waits when something in a folder changes (inotify(7)).
  package final class FolderWatch: Sendable {
    private let descriptor: Int32

    /// Begins to watch; what changes from now on is not missed.
    package init(_ folder: String) throws {
      descriptor = inotify_init1(Int32(IN_CLOEXEC))
      try #require(descriptor >= 0)
      let events = UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY)
      // Safety: the path is zero-terminated for the call.
      let watch = unsafe inotify_add_watch(descriptor, folder, events)
      try #require(watch >= 0, "\(folder) cannot be watched")
    }

    deinit { close(descriptor) }

    /// Blocks until a condition holds; looks at it again after each change.
    package func wait(until condition: () throws -> Bool) throws {
      while try !condition() { try waitForChange() }
    }

    /// Blocks until something has changed.
    package func waitForChange() throws {
      var buffer = [UInt8](repeating: 0, count: 4096)
      // Safety: read writes at most as many bytes as the array has; what they say is not looked at.
      let count = unsafe read(descriptor, &buffer, buffer.count)
      try #require(count > 0 || errno == EINTR)
    }
  }
#endif
