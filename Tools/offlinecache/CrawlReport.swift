import CacheFormat
import CacheStore
import CommandLineTools
import HTTPSemantics
import SiteCrawling

/// Prints what a crawl could not fetch, its progress, and its numbers at the end.
final class CrawlReport: Sendable {
  private let isQuiet: Bool
  private let asJSON: Bool
  private let progress: ProgressLine
  private let lines: ReportLines
  private let start = ContinuousClock.now

  init(isQuiet: Bool, asJSON: Bool) {
    self.isQuiet = isQuiet
    self.asJSON = asJSON
    progress = ProgressLine(total: nil, isEnabled: !isQuiet && Terminal.isTerminal(2))
    lines = ReportLines(beside: progress)
  }

  /// Reports one URL.
  @Sendable
  func add(
    _ item: CrawlItem, _ outcome: CrawlOutcome, _ summary: CrawlSummary, known: Int
  ) throws(OutputError) {
    progress.set(done: summary.done, total: known, bytes: summary.bytes, totalBytes: nil)
    guard let (word, reason) = failure(item, outcome) else { return }
    if asJSON {
      return try lines.write([
        JSONText.object([
          ("url", .string(item.url.string)),
          ("linked_from", .text(source(of: item))),
          ("outcome", .string(word)), ("reason", .string(reason)),
        ]).line
      ])
    }
    let source = source(of: item).map { ["  linked from \(terminalSafe($0))"] } ?? []
    try lines.write([terminalSafe(reason)] + source)
  }

  /// Prints the summary, also that of a crawl that was interrupted.
  ///
  /// - Throws: the error of the crawl.
  func finish(_ result: Result<CrawlSummary, any Error>) throws -> CrawlSummary {
    progress.finish()
    try lines.flush()
    let summary = try result.get()
    guard !isQuiet else { return summary }
    if asJSON { try Output.printLines([json(summary).line]) }
    let seconds = ((ContinuousClock.now - start) / .milliseconds(10)).rounded() / 100
    printMessage(
      "\(summary.fetched) fetched, \(summary.stored) in the store before, "
        + "\(summary.notFound) not found, \(summary.failed) failed, "
        + "\(summary.disallowed) not allowed by robots.txt; "
        + "\(ByteCount(summary.bytes)) in \(seconds) s")
    if summary.noStore > 0 {
      let (pages, them) =
        summary.noStore == 1
        ? ("1 page is not kept because it says", "it")
        : ("\(summary.noStore) pages are not kept because they say", "them")
      printMessage(
        "offlinecache: \(pages) no-store; --keep-no-store keeps \(them) for --offline")
    }
    guard summary.leftOut > 0 else { return summary }
    if let error = summary.storeError {
      let (when, remedy) =
        error.code == .leastRecent
        ? (
          " in this crawl",
          "raise the limit with 'offlinecache limit \(Self.option(for: error))', then run it again to "
            + "go on"
        ) : ("", error.remedy)
      printMessage(
        "offlinecache: \(terminalSafe(error.path)): \(error.cause)\(when), so it has ended, and "
          + "\(leftOut(summary)); \(remedy)")
      return summary
    }
    let (cause, remedy) =
      if summary.reachedLimit {
        ("--limit was reached", "run it again to go on, with more if a page failed for it")
      } else if summary.filledFrontier {
        ("there are too many URLs to remember", "crawl parts of the site by themselves")
      } else {
        ("the crawl has ended", "run it again to go on")
      }
    printMessage("offlinecache: \(cause): \(leftOut(summary)); \(remedy)")
    return summary
  }

  private func leftOut(_ summary: CrawlSummary) -> String {
    summary.leftOut == 1
      ? "1 known URL is left out" : "\(summary.leftOut) known URLs are left out"
  }

  /// Returns the option of `offlinecache limit` for the limit that an error is about.
  private static func option(for error: StoreError) -> String {
    error.cause.contains("entries, its limit")
      ? "--entries" : error.cause.contains("of the volume") ? "--free" : "--bytes"
  }

  /// Returns a word for a failure and the message; `nil` if there is nothing to report.
  private func failure(_ item: CrawlItem, _ outcome: CrawlOutcome) -> (String, String)? {
    let url = item.url.string
    switch outcome {
    case .kept, .leftOut: return nil
    case .refused(let status):
      let word = Refusal.isNotFound(status) ? "not_found" : "failed"
      return (word, "\(url): \(Refusal.text(status, nil, remedy: "correct the link"))")
    case .failed(let reason):
      return ("failed", reason.hasPrefix("\(url): ") ? reason : "\(url): \(reason)")
    case .disallowed:
      // Links to what robots.txt excludes are usual; a start page is not.
      guard asJSON || item.referrer == nil else { return nil }
      let words = "\(url): the robots.txt of its host does not allow it"
      return ("disallowed", item.referrer == nil ? "\(words); start with another page" : words)
    }
  }

  /// Returns the page that led to a URL: what links to it, or redirects to it.
  private func source(of item: CrawlItem) -> String? {
    (item.redirects.last ?? item.referrer)?.string
  }

  private func json(_ summary: CrawlSummary) -> JSONText {
    .object([
      ("fetched", .count(summary.fetched)), ("stored", .count(summary.stored)),
      ("not_found", .count(summary.notFound)), ("failed", .count(summary.failed)),
      ("disallowed", .count(summary.disallowed)), ("left_out", .count(summary.leftOut)),
      ("bytes", .count(summary.bytes)), ("reached_limit", .bool(summary.reachedLimit)),
      ("store_error", .text(summary.storeError?.cause)),
    ])
  }
}
