import CacheClient
import CacheFormat
import CommandLineTools
import Synchronization

struct DownloadsRun: Sendable {
  private let downloads: [Download]
  private let shared: RemoteDownloads?
  private let isQuiet: Bool
  private let progress: ProgressLine
  private let lines: ReportLines

  init(
    _ downloader: Downloader, _ requests: [DownloadRequest], _ shared: RemoteDownloads?,
    isQuiet: Bool
  ) {
    self.shared = shared
    downloads = requests.map { downloader.start($0) }
    self.isQuiet = isQuiet
    progress = ProgressLine(
      total: requests.count, isEnabled: !isQuiet && Terminal.isTerminal(2))
    lines = ReportLines(beside: progress)
  }

  /// Waits for all downloads. A failed download is reported and does not stop the others; a failed
  /// output does.
  func all() async throws -> ExitStatus {
    let downloads = downloads
    Interruption.onRequest { for download in downloads { download.cancel() } }
    let sums = ProgressSums(downloads.count, progress)
    let statuses = await withTaskGroup(of: Result<ExitStatus, OutputError>.self) { group in
      for (index, download) in downloads.enumerated() {
        group.addTask {
          for await update in download.updates {
            sums.note(update, of: index)
            if case .retrying(let error) = update.phase, !isQuiet {
              progress.message("offlinecache: trying again: \(error)")
            }
          }
          do throws(DownloadError) {
            return report(try await download.value())
          } catch {
            return .success(report(error))
          }
        }
      }
      return await group.reduce(into: [Result<ExitStatus, OutputError>]()) { all, status in
        if case .failure = status { for download in downloads { download.cancel() } }
        all.append(status)
      }
    }
    progress.finish()
    if let signal = Interruption.requested {
      printMessage("offlinecache: interrupted; the same command resumes the downloads")
      throw Interrupted(signal: signal)
    }
    let all = try statuses.map { status throws(OutputError) in try status.get() }
    return all.contains(.failure) ? .failure : all.contains(.notFound) ? .notFound : .success
  }

  private func report(_ file: DownloadedFile) -> Result<ExitStatus, OutputError> {
    guard !isQuiet else { return .success(.success) }
    let word =
      switch file.source {
      case .network: shared?.hasFound(file.record.answeredBy) == true ? "remote" : "done"
      case .confirmed: "valid"
      case .file: "had"
      case .copy, .store: "copy"
      }
    let size = pad(ByteCount(file.record.length ?? 0).description, to: 11)
    let line =
      word + String(repeating: " ", count: max(0, 6 - word.count))
      + "\(size)  \(terminalSafe(file.path))  \(terminalSafe(file.record.url))"
    do throws(OutputError) {
      try lines.write([line])
      // Written at once, because a download takes long.
      try lines.flush()
      return .success(.success)
    } catch {
      return .failure(error)
    }
  }

  private func report(_ error: DownloadError) -> ExitStatus {
    if Interruption.requested == nil, error.cause != .cancelled {
      let remedy = error.cause == .status(401) ? "; see --user and --header" : ""
      progress.message("offlinecache: \(OptionAdvice.text(error))\(remedy)")
    }
    if case .status(let status) = error.cause, Refusal.isNotFound(status) { return .notFound }
    return .failure
  }
}

private final class ProgressSums: Sendable {
  private struct Sums {
    /// Servers may state any length; more than this counts as unknown, so that no sum overflows.
    static let most: UInt64 = 1 << 43

    var over = 0
    var bytes: UInt64 = 0
    var resumed: UInt64 = 0
    var total: UInt64 = 0
    var unknown = 0

    mutating func add(_ progress: DownloadProgress) {
      over += progress.isOver ? 1 : 0
      bytes += min(progress.received, Self.most)
      resumed += min(progress.resumed, Self.most)
      if let known = Self.total(progress) { total &+= known } else { unknown += 1 }
    }

    mutating func remove(_ progress: DownloadProgress) {
      over -= progress.isOver ? 1 : 0
      bytes -= min(progress.received, Self.most)
      resumed -= min(progress.resumed, Self.most)
      if let known = Self.total(progress) { total &-= known } else { unknown -= 1 }
    }

    private static func total(_ progress: DownloadProgress) -> UInt64? {
      progress.total.flatMap { $0 <= most ? $0 : nil }
    }
  }

  private let all: Mutex<(progress: [DownloadProgress], sums: Sums)>
  private let line: ProgressLine

  init(_ count: Int, _ line: ProgressLine) {
    var sums = Sums()
    let progress = Array(repeating: DownloadProgress(), count: count)
    for each in progress { sums.add(each) }
    all = Mutex((progress, sums))
    self.line = line
  }

  /// - Complexity: O(1), as there may be very many downloads.
  func note(_ progress: DownloadProgress, of index: Int) {
    all.withLock { all in
      all.sums.remove(all.progress[index])
      all.sums.add(progress)
      all.progress[index] = progress
      let sums = all.sums
      line.set(
        done: sums.over, total: all.progress.count, bytes: sums.bytes, bytesBefore: sums.resumed,
        totalBytes: sums.unknown == 0 ? sums.total : nil)
    }
  }
}
