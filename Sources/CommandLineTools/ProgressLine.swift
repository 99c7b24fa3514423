internal import CacheFormat
internal import CacheSystem
import Synchronization

struct Progress: Sendable, Hashable {
  var done: Int
  /// All items, or `nil` if their number is not known.
  var total: Int?
  var bytes: UInt64
  /// The part of `bytes` that existed before the work began. It counts for the share, but not for
  /// the rate.
  var bytesBefore: UInt64 = 0
  /// All bytes, or `nil` if their number is not known. If it is above 0, it gives the share instead
  /// of the items; 0 means that no bytes are moved.
  var totalBytes: UInt64?
  var seconds: Double

  /// The progress in one line of at most `width` columns.
  ///
  ///     [=======>        ]  45%  900/2000  12.3 MiB  8.1 MiB/s  0:12 left
  ///
  /// On a narrow terminal the bar is left out first, then the parts on the right.
  func line(width: Int) -> String {
    var parts: [String] = []
    if let share { parts.append(pad("\(Int(share * 100))%", to: 4)) }
    parts.append(total.map { "\(done)/\($0)" } ?? "\(done)")
    if totalBytes != 0 { parts.append(ByteCount(bytes).description) }
    if seconds >= 0.5 {
      parts.append(rate)
      if let left = secondsLeft { parts.append(clockTime(left) + " left") }
    }
    while parts.count > 1, parts.joined(separator: "  ").count > width { parts.removeLast() }
    let text = parts.joined(separator: "  ")
    let room = min(width - text.count - 4, 30)
    guard let share, room >= 10 else { return String(text.prefix(width)) }
    return "[" + bar(share, length: room) + "]  " + text
  }

  /// The bytes done in a second, or the items if no bytes are moved.
  private var rate: String {
    totalBytes == 0
      ? "\(Int(Double(done) / seconds))/s"
      : ByteCount(UInt64(min(Double(bytes - bytesBefore) / seconds, 0x1p63))).description + "/s"
  }

  private var share: Double? {
    if let totalBytes, totalBytes > 0 { return min(1, Double(bytes) / Double(totalBytes)) }
    return total.map { $0 > 0 ? min(1, max(0, Double(done) / Double($0))) : 1 }
  }

  /// The seconds left if the work continues at its average rate so far.
  private var secondsLeft: Double? {
    guard let share, share < 1 else { return nil }
    let before = totalBytes.map { $0 > 0 ? Double(bytesBefore) / Double($0) : 0 } ?? 0
    return share > before ? seconds * (1 - share) / (share - before) : nil
  }

  private func bar(_ share: Double, length: Int) -> String {
    let filled = Int(Double(length) * share)
    if filled == length { return String(repeating: "=", count: length) }
    return String(repeating: "=", count: filled) + ">"
      + String(repeating: " ", count: length - filled - 1)
  }
}

/// Returns seconds as a clock shows them: `0:05`, `12:34`, `3:02:01`.
func clockTime(_ seconds: Double) -> String {
  let whole = Int(min(max(seconds, 0), 359_999).rounded(.up))
  let (hours, minutes) = (whole / 3600, whole / 60 % 60)
  let tail = pad("\(whole % 60)", to: 2, with: "0")
  return hours > 0
    ? "\(hours):\(pad("\(minutes)", to: 2, with: "0")):\(tail)" : "\(minutes):\(tail)"
}

/// Returns text with blanks or another character in front of it, at least `width` characters.
package func pad(_ text: String, to width: Int, with character: Character = " ") -> String {
  String(repeating: character, count: max(0, width - text.count)) + text
}

/// Updates one line on standard error while work is in progress.
///
/// By default the line is shown only if standard error is a terminal; messages are always printed.
/// If it is enabled for a file or a log, a new line is written from time to time. It may be used
/// from several threads.
package final class ProgressLine: Sendable {
  private struct State {
    var progress: Progress
    var lastDrawn: Double
    var isShown = false
  }

  private let isEnabled: Bool
  private let isTerminal = Terminal.isTerminal(2)
  private let start = ContinuousClock.now
  private let state: Mutex<State>
  /// The seconds between two updates: ten a second on a terminal, and one line every five seconds
  /// in a log.
  private var interval: Double { isTerminal ? 0.1 : 5 }

  /// Creates a line for a number of items, or for an unknown number.
  ///
  /// - Parameters:
  ///   - total: The number of items, or `nil` if it is not known.
  ///   - isEnabled: Whether the line is shown at all.
  package init(total: Int?, isEnabled: Bool = Terminal.isTerminal(2)) {
    self.isEnabled = isEnabled
    let progress = Progress(done: 0, total: total, bytes: 0, seconds: 0)
    // Short work shows nothing on a terminal; a log gets a line at once.
    state = Mutex(State(progress: progress, lastDrawn: isTerminal ? 0 : -.infinity))
  }

  /// Adds the work that was done since the last call.
  package func advance(items: Int = 0, bytes: UInt64 = 0) {
    change { progress in
      progress.done += items
      progress.bytes += bytes
    }
  }

  /// Sets the progress, for callers that count themselves.
  package func set(
    done: Int, total: Int?, bytes: UInt64, bytesBefore: UInt64 = 0, totalBytes: UInt64?
  ) {
    change { progress in
      progress = Progress(
        done: done, total: total, bytes: bytes, bytesBefore: min(bytesBefore, bytes),
        totalBytes: totalBytes,
        seconds: progress.seconds)
    }
  }

  private func change(_ body: (inout Progress) -> Void) {
    guard isEnabled else { return }
    let now = seconds
    state.withLock { state in
      body(&state.progress)
      state.progress.seconds = now
      guard now - state.lastDrawn >= interval else { return }
      state.lastDrawn = now
      draw(&state)
    }
  }

  /// Prints a message, above the line if that is shown.
  package func message(_ text: String) { aside { printMessage(text) } }

  /// Calls a closure that writes to the terminal while the line is erased; one caller at a time.
  package func aside<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    try state.withLock { state throws(Failure) in
      erase(&state)
      try body()
    }
  }

  package func finish() { state.withLock { erase(&$0) } }

  private var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  private func draw(_ state: inout State) {
    guard isTerminal else {
      return printMessage(state.progress.line(width: Terminal.width(of: 2)))
    }
    // The last column stays empty: some terminals wrap when it is filled.
    let line = state.progress.line(width: Terminal.width(of: 2) - 1)
    _ = writeBytes(Array("\r\u{1B}[K\(line)".utf8), to: 2)
    state.isShown = true
  }

  private func erase(_ state: inout State) {
    guard state.isShown else { return }
    _ = writeBytes(Array("\r\u{1B}[K".utf8), to: 2)
    state.isShown = false
  }
}
