import CLibrary
import CacheSystem
import Synchronization

/// Writes a line for every answer, on its own thread.
///
/// The server's threads append their lines to memory. If the disk or the reader of a pipe is too
/// slow, lines are left out rather than answers delayed. A line then states how many.
package final class AccessLog: ProxyObserver {
  package enum Destination: Sendable, Hashable {
    case standardOutput
    /// The end of a file. A missing file is created, readable for its owner and group.
    case file(String)
  }

  /// The limit of the lines that wait to be written, in bytes.
  static let maximumWaitingBytes = 32 << 20

  /// The time for which the thread collects lines before it writes them, in nanoseconds.
  private static let collectingTime: Int64 = 20_000_000

  private struct Waiting {
    var lines: [UInt8] = []
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
  /// How often lines were written.
  private let writes = Atomic<Int>(0)

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

  package func answered(_ record: AnswerRecord) {
    // The log's thread must not release texts that this thread has allocated: see `RecentAnswers`.
    let line = AccessLogLine(record, format).bytes
    let isFirst = waiting.withLock { waiting in
      guard waiting.lines.count <= Self.maximumWaitingBytes - line.count else {
        waiting.lost += 1
        return false
      }
      waiting.lines += line
      return waiting.lines.count == line.count
    }
    if isFirst { ask(.write) }
  }

  /// Reopens the file, for use after it was renamed.
  package func reopen() { ask(.reopen) }

  /// Writes the waiting lines and closes the log. Answers recorded after that are lost.
  ///
  /// Returns when all lines are written, the output is closed, or the reader has taken no lines for
  /// two seconds.
  package func close() {
    ask(.close)
    var seen: Int?
    while seen != writes.load(ordering: .relaxed) {
      seen = writes.load(ordering: .relaxed)
      let end: Void? = request.wait(nanoseconds: Self.closingTime) { $0 == .closed ? () : nil }
      if end != nil { return }
    }
    fail("\(destination.name): nobody reads the log; its last lines are lost")
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

  private func run(_ first: Int32) {
    var output = Output(descriptor: first)
    while true {
      request.wait { request in request == .none ? nil : () }
      _ = request.wait(nanoseconds: Self.collectingTime) { $0 == .close ? () : nil }
      let asked = request.change { request in
        defer { if request != .close { request = .none } }
        return request
      }
      writeWaiting(to: &output)
      if asked == .reopen { reopen(&output) }
      if asked == .close { break }
    }
    if output.descriptor != 1 { CLibrary.close(output.descriptor) }
    request.change { $0 = .closed }
  }

  private func writeWaiting(to output: inout Output) {
    var taken = Waiting()
    waiting.withLock { swap(&$0, &taken) }
    var rest = taken.lines[...]
    // In pieces of whole lines, so that `close` sees that the reader still takes some.
    while !rest.isEmpty {
      let end = rest.dropFirst(Self.pieceBytes).firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
      write(rest[..<end], to: &output)
      rest = rest[end...]
    }
    if output.lost + taken.lost == 0 { return }
    // If the notice is not written, it counts as a line.
    let lost = output.lost + taken.lost
    output.lost = lost - 1
    if write(Array(notice(of: lost).utf8)[...], to: &output) { output.lost = 0 }
  }

  private static let pieceBytes = 1 << 16

  private func notice(of lost: Int) -> String {
    switch format {
    case .text: "# \(lost) lines were left out, as the log could not be written\n"
    case .json: "{\"linesLeftOut\":\(lost)}\n"
    }
  }

  /// Reopens the file. If that fails, the old descriptor is kept.
  private func reopen(_ output: inout Output) {
    guard case .file = destination else { return }
    do throws(ProxyError) {
      let new = try Self.open(destination, isAgain: true)
      CLibrary.close(output.descriptor)
      (output.descriptor, output.endsWithinLine) = (new, false)
    } catch {
      fail("\(error); the lines go to the file that was open before")
    }
  }

  /// Opens the output.
  ///
  /// - Parameters:
  ///   - destination: What to open.
  ///   - isAgain: Whether the server runs already: then this does not wait for the reader of a pipe.
  private static func open(
    _ destination: Destination, isAgain: Bool = false
  ) throws(ProxyError) -> Int32 {
    guard case .file(let path) = destination else { return 1 }
    // In a folder like /tmp another user may have put a link there, or a file, to read the log; also
    // since it was opened before.
    if UserPath.isPlanted(path) || UserPath.planted(on: Array(path.utf8)) != nil {
      let words = "it, or a part of its path, belongs to another user"
      let isLoop = UserPath.isLoop(Array(path.utf8))
      throw ProxyError(
        .log, subject: path, detail: isLoop ? SystemError(ELOOP).description : words)
    }
    let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (isAgain ? O_NONBLOCK : 0)
    // Safety: the path is a C string that is valid during the call.
    let descriptor = unsafe CLibrary.open(path, flags, 0o640)
    guard descriptor >= 0 else {
      let error = SystemError(errno)
      let isUnread = error == SystemError(ENXIO)
      let words = isUnread ? "it is a pipe that nobody reads, or a socket" : error.description
      throw ProxyError(.log, subject: path, detail: words)
    }
    // Writing waits for room, as if it had been opened without O_NONBLOCK.
    _ = fcntl(descriptor, F_SETFL, O_APPEND)
    return descriptor
  }

  /// Reports the first failure since the last success.
  private func fail(_ words: String) {
    if !hasFailed.exchange(true, ordering: .relaxed) { onFailure(words) }
  }

  private struct Output {
    var descriptor: Int32
    var endsWithinLine = false
    /// The number of lines that were not written.
    var lost = 0
  }

  /// Writes lines. Gives up if nobody takes them, and counts those that are lost.
  ///
  /// - Returns: whether all were written.
  @discardableResult
  private func write(_ lines: ArraySlice<UInt8>, to output: inout Output) -> Bool {
    if lines.isEmpty { return true }
    let bytes = (output.endsWithinLine ? [0x0A] : []) + lines
    let start = bytes.count - lines.count
    var written = 0
    let failure = writeBytes(bytes, from: &written, to: output.descriptor)
    if written > 0 { output.endsWithinLine = bytes[written - 1] != 0x0A }
    guard let failure else {
      writes.add(1, ordering: .relaxed)
      hasFailed.store(false, ordering: .relaxed)
      return true
    }
    output.lost += bytes[max(written, start)...].count { $0 == 0x0A }
    let words = SystemError(failure).description
    fail("\(destination.name): the log cannot be written: \(words); lines are lost")
    return false
  }
}

extension AccessLog.Destination {
  var name: String {
    switch self {
    case .standardOutput: "standard output"
    case .file(let path): path
    }
  }
}
