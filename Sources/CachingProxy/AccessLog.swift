import CLibrary
import CacheSystem
import Synchronization

/// Writes a line for every answer, on its own thread.
///
/// Recording an answer costs the server's threads no more than appending it to a list. If the disk
/// or the reader of a pipe is too slow, lines are left out rather than answers delayed. A line then
/// states how many.
package final class AccessLog: ProxyObserver {
  /// The place the lines are written to.
  package enum Destination: Sendable, Hashable {
    /// Standard output.
    case standardOutput
    /// The end of a file. A missing file is created, readable for its owner and group.
    case file(String)
  }

  /// The limits of the records that wait to be written.
  static let maximumWaiting = 65_536
  static let maximumWaitingBytes = 32 << 20

  /// The time for which the thread collects lines before it writes them, in nanoseconds.
  private static let collectingTime: Int64 = 20_000_000

  private struct Waiting {
    var records: [AnswerRecord] = []
    /// The bytes of their texts that clients choose.
    var bytes = 0
    var lost = 0
  }

  private enum Request {
    case none, write, reopen, close, closed
  }

  private let destination: Destination
  private let format: AccessLogFormat
  private let onFailure: @Sendable (String) -> Void
  private let hasFailed = Atomic<Bool>(false)
  private let waiting = Lock(Waiting())
  private let request = Monitor(Request.none)

  /// Opens the log and starts its thread.
  ///
  /// - Parameter onFailure: Called once, with a text, if the log cannot be written or reopened.
  /// - Throws: ``ProxyError``.
  package init(
    _ destination: Destination, format: AccessLogFormat,
    onFailure: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ProxyError) {
    self.destination = destination
    self.format = format
    self.onFailure = onFailure
    let descriptor = try Self.open(destination)
    do throws(SystemError) {
      try startThread { [self] in run(descriptor) }
    } catch {
      throw ProxyError(.log, subject: destination.name, detail: "no thread can be started")
    }
  }

  /// Records an answer.
  package func answered(_ record: AnswerRecord) {
    let bytes = record.method.utf8.count + record.url.utf8.count
    let isFirst = waiting.withLock { waiting in
      guard waiting.records.count < Self.maximumWaiting,
        waiting.bytes <= Self.maximumWaitingBytes - bytes
      else {
        waiting.lost += 1
        return false
      }
      waiting.bytes += bytes
      waiting.records.append(record)
      return waiting.records.count == 1
    }
    if isFirst { ask(.write) }
  }

  /// Reopens the file, for use after it was renamed.
  package func reopen() { ask(.reopen) }

  /// Writes the waiting lines and closes the log. Answers recorded after that are lost.
  ///
  /// Returns when all lines are written, the output is closed, or the reader has taken no bytes for
  /// two seconds.
  package func close() {
    ask(.close)
    _ = request.wait(nanoseconds: Self.closingTime) { $0 == .closed ? () : nil }
  }

  private static let closingTime: Int64 = 2_000_000_000

  private func ask(_ new: Request) {
    request.change { request in
      switch (request, new) {
      // The more urgent request is kept.
      case (.closed, _), (.close, _), (.reopen, .write): break
      default: request = new
      }
    }
  }

  /// The loop of the thread.
  private func run(_ first: Int32) {
    var descriptor = first
    var line = AccessLogLine(format)
    while true {
      request.wait { request in request == .none ? nil : () }
      _ = request.wait(nanoseconds: Self.collectingTime) { $0 == .close ? () : nil }
      let asked = request.change { request in
        defer { if request != .close { request = .none } }
        return request
      }
      write(&line, to: descriptor)
      if asked == .reopen { descriptor = reopened(descriptor) }
      if asked == .close { break }
    }
    if descriptor != 1 { CLibrary.close(descriptor) }
    request.change { $0 = .closed }
  }

  /// Writes all waiting lines.
  private func write(_ line: inout AccessLogLine, to descriptor: Int32) {
    let taken = waiting.withLock { waiting in
      let taken = waiting
      waiting = Waiting()
      return taken
    }
    var bytes: [UInt8] = []
    for record in taken.records {
      line.append(record, to: &bytes)
      if bytes.count >= 1 << 16 {
        write(bytes, to: descriptor)
        bytes.removeAll(keepingCapacity: true)
      }
    }
    if taken.lost > 0 { bytes += notice(of: taken.lost).utf8 }
    write(bytes, to: descriptor)
  }

  private func notice(of lost: Int) -> String {
    switch format {
    case .text: "# \(lost) lines were left out, as the log could not be written fast enough\n"
    case .json: "{\"linesLeftOut\":\(lost)}\n"
    }
  }

  /// Reopens the file. If that fails, the old descriptor is kept.
  private func reopened(_ old: Int32) -> Int32 {
    guard case .file = destination else { return old }
    do throws(ProxyError) {
      let new = try Self.open(destination)
      CLibrary.close(old)
      return new
    } catch {
      fail("\(error); the lines go to the file that was open before")
      return old
    }
  }

  private static func open(_ destination: Destination) throws(ProxyError) -> Int32 {
    guard case .file(let path) = destination else { return 1 }
    // In a folder like /tmp another user may have put a link there, or a file, to read the log.
    if UserPath.isPlanted(path) {
      throw ProxyError(.log, subject: path, detail: "it belongs to another user; use another file")
    }
    // Safety: the path is a C string that is valid during the call.
    let descriptor = unsafe CLibrary.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw ProxyError(.log, subject: path, detail: SystemError(errno).description)
    }
    return descriptor
  }

  /// Reports the first failure. Later failures are not reported.
  private func fail(_ words: String) {
    if !hasFailed.exchange(true, ordering: .relaxed) { onFailure(words) }
  }

  /// Writes all bytes. Gives up if nobody takes them.
  private func write(_ bytes: [UInt8], to descriptor: Int32) {
    unsafe bytes.withUnsafeBytes { buffer in
      var rest = unsafe buffer[...]
      while unsafe !rest.isEmpty {
        // Safety: the rest of the buffer is read.
        let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
        let count = unsafe CLibrary.write(descriptor, part.baseAddress, part.count)
        if count < 0 {
          let code = errno
          if code == EINTR { continue }
          let words = SystemError(code).description
          fail("\(destination.name): the log cannot be written: \(words); lines are lost")
          return
        }
        unsafe rest = rest.dropFirst(count)
      }
    }
  }
}

extension AccessLog.Destination {
  /// The name in messages.
  var name: String {
    switch self {
    case .standardOutput: "standard output"
    case .file(let path): path
    }
  }
}
