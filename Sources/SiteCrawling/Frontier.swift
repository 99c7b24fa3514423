import HTTPSemantics
import SiteParsing

/// The URLs that wait, and those that are known. Each URL is given out once.
///
/// The items of one level (all pages of one depth, and their parts) come before those of the next.
struct Frontier {
  enum Step {
    /// Fetch the robots.txt of a host, then call ``setRules(_:of:)``.
    case readRules(NormalizedURL)
    /// Fetch a URL, then call ``finish(_:)``.
    case fetch(CrawlItem)
    /// Do not fetch it.
    case leave(CrawlItem, CrawlOutcome)
  }

  private struct Host {
    /// The next item is the last one.
    var waiting: [CrawlItem] = []
    var running = 0
    var rules: Result<RobotsRules, NoRules>?
    var isReadingRules = false
    var failures = 0
  }

  private let limitBytes: Int
  private let connections: Int
  private var hosts: [NormalizedURL.Origin: Host] = [:]
  /// The hosts that may have something to do; each once.
  private var ready: [NormalizedURL.Origin] = []
  private var nextLevel: [CrawlItem] = []
  private var known: Set<String> = []
  private var bytes = 0
  private(set) var waitingCount = 0
  /// Whether the limit of memory was reached.
  private(set) var isFull = false

  init(limitBytes: Int, connectionsPerHost: Int) {
    self.limitBytes = limitBytes
    connections = connectionsPerHost
  }

  var knownCount: Int { known.count }

  /// Adds an item, unless its URL is known.
  ///
  /// - Returns: `false` if there is no room for it.
  mutating func add(_ item: CrawlItem, atNextLevel: Bool = false) -> Bool {
    if known.contains(item.url.string) { return true }
    guard charge(3 * item.url.string.utf8.count + 300) else { return false }
    known.insert(item.url.string)
    waitingCount += 1
    if atNextLevel { nextLevel.append(item) } else { enqueue(item) }
    return true
  }

  /// Returns what to do next, or `nil` if nothing can be done before something running has ended.
  mutating func next() -> Step? {
    while let origin = ready.popLast() {
      guard var host = hosts.removeValue(forKey: origin) else { continue }
      defer { hosts[origin] = host }
      guard !host.isReadingRules, host.running < connections, let item = host.waiting.last
      else { continue }
      guard let rules = host.rules else {
        host.isReadingRules = true
        return (try? item.url.replacingTarget("/robots.txt")).map { .readRules($0) }
      }
      host.waiting.removeLast()
      waitingCount -= 1
      if !host.waiting.isEmpty { ready.append(origin) }
      switch rules {
      case .failure(let fault):
        let words = "nothing is fetched from its host without its robots.txt: \(fault.reason)"
        return .leave(item, .failed(words))
      case .success(let rules) where !rules.allows(item.url): return .leave(item, .disallowed)
      case .success: break
      }
      guard host.failures < CrawlOptions.maximumFailures else {
        return .leave(item, .failed("its host does not answer"))
      }
      host.running += 1
      return .fetch(item)
    }
    return nil
  }

  /// Makes the items of the next level available.
  ///
  /// - Returns: whether there are any.
  mutating func startNextLevel() -> Bool {
    let items = nextLevel
    nextLevel = []
    // The first one is enqueued last, and so given out first.
    for item in items.reversed() { enqueue(item) }
    return !items.isEmpty
  }

  mutating func setRules(_ rules: Result<RobotsRules, NoRules>, of url: NormalizedURL) {
    let origin = NormalizedURL.Origin(url)
    let fits = charge(((try? rules.get())?.cost ?? 0) + 300)
    hosts[origin]?.rules =
      fits ? rules : .failure(NoRules(reason: "there is no memory left for the rules of its host"))
    hosts[origin]?.isReadingRules = false
    ready.append(origin)
  }

  /// Notes that a URL is done.
  ///
  /// - Parameter isReachable: Whether its host has answered.
  mutating func finish(_ url: NormalizedURL, isReachable: Bool) {
    let origin = NormalizedURL.Origin(url)
    hosts[origin]?.running -= 1
    if isReachable { hosts[origin]?.failures = 0 } else { hosts[origin]?.failures += 1 }
    ready.append(origin)
  }

  private mutating func enqueue(_ item: CrawlItem) {
    let origin = NormalizedURL.Origin(item.url)
    hosts[origin, default: Host()].waiting.append(item)
    if hosts[origin]?.waiting.count == 1 { ready.append(origin) }
  }

  private mutating func charge(_ count: Int) -> Bool {
    guard bytes + count <= limitBytes else {
      isFull = true
      return false
    }
    bytes += count
    return true
  }
}
