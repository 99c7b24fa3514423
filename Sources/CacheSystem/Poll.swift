internal import CLibrary

/// Waits for several descriptors with poll(2), and can be woken by other threads.
@safe
package final class Poll: Sendable {
  /// A descriptor that is waited for.
  package struct Watched {
    package let descriptor: Int32
    package let events: Int16

    package init(_ descriptor: Int32, reads: Bool, writes: Bool = false) {
      events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
      // Without events, poll(2) would still report the end of the connection, again and again.
      self.descriptor = events == 0 ? -1 : descriptor
    }
  }

  private let ends: (read: Int32, write: Int32)

  /// - Throws: EMFILE or ENFILE if no descriptors are left.
  package init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // Safety: pipe writes two descriptors into the array of two.
    guard unsafe pipe(&ends) == 0 else { throw SystemError(errno) }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    self.ends = (ends[0], ends[1])
  }

  deinit {
    close(ends.read)
    close(ends.write)
  }

  /// Makes the present or next ``wait(for:until:)`` return; from any thread.
  package func wake() {
    var byte: UInt8 = 0
    // Safety: one byte of the local is read. A full pipe wakes as well.
    _ = unsafe write(ends.write, &byte, 1)
  }

  /// Waits until one of the descriptors is ready, ``wake()`` is called, or the time has come.
  ///
  /// - Parameter deadline: The latest time; a past one does not wait.
  /// - Returns: For each descriptor, whether it is ready or lost.
  package func wait(for watched: [Watched], until deadline: ContinuousClock.Instant) -> [Bool] {
    var items = watched.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
    items.append(pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0))
    let (seconds, attoseconds) = max(.zero, deadline - .now).components
    let milliseconds = min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000
    let time = deadline <= .now ? 0 : Int32(milliseconds + 1)
    // Safety: poll reads and writes as many items as the array has.
    let count = unsafe poll(&items, nfds_t(items.count), time)
    guard count > 0 else { return Array(repeating: false, count: watched.count) }
    if items[watched.count].revents != 0 { drain() }
    return items[..<watched.count].map { $0.revents != 0 }
  }

  /// Returns whether a descriptor is ready or lost (poll(2)). A wait that a signal interrupts begins
  /// again.
  ///
  /// - Parameters:
  ///   - events: `POLLIN` or `POLLOUT`.
  ///   - milliseconds: The longest wait.
  @discardableResult
  package static func isReady(
    _ descriptor: Int32, for events: Int32, milliseconds: Int32 = 0
  ) -> Bool {
    var item = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    while true {
      // Safety: poll reads and writes the one item.
      let count = unsafe poll(&item, 1, milliseconds)
      if count >= 0 || errno != EINTR { return count != 0 }
    }
  }

  private func drain() {
    // Safety: read writes at most the size of the buffer.
    unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      while unsafe read(ends.read, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }
}
