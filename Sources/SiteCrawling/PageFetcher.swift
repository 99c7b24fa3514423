import CacheClient
import CacheFormat
import CacheStore
import CacheSystem
import HTTPCaching
import HTTPSemantics
import HTTPTransports
import SiteParsing
import Synchronization

struct FetchedPage: Sendable {
  var item: CrawlItem
  var outcome: CrawlOutcome
  /// The parts of the document, each once.
  var requisites: [NormalizedURL] = []
  /// What the document links to, each URL once.
  var links: [NormalizedURL] = []
  var redirect: NormalizedURL?
  var isReachable = true
  /// Whether it is not kept because it says `no-store`, and the options do not keep such pages.
  var isNoStore = false
  /// The error of the store if it can keep no further page of this crawl.
  var storeError: StoreError?
}

/// Why the rules of a host are not known, so that nothing of it may be fetched.
struct NoRules: Error, Sendable {
  let reason: String
}

/// Counts the bytes from servers, for many tasks, against a limit.
final class ByteBudget: Sendable {
  let limit: UInt64
  private let used = Atomic<UInt64>(0)

  init(limit: UInt64?) { self.limit = limit ?? .max }

  var bytes: UInt64 { used.load(ordering: .relaxed) }
  var isSpent: Bool { bytes >= limit }

  func add(_ count: Int) { used.wrappingAdd(UInt64(count), ordering: .relaxed) }
}

/// Fetches URLs through the store, and finds the references in them.
struct PageFetcher: Sendable {
  private struct LimitReached: Error {}
  /// Tells why a body was not read to its end.
  private struct Unending: Error {
    let reason: String
  }

  let client: CachingClient
  let options: CrawlOptions
  let budget: ByteBudget
  /// The hosts of the start pages, for `options.staysOnHost`.
  var hosts: Set<String> = []

  func fetch(_ item: CrawlItem) async -> FetchedPage {
    do {
      return try await receive(item, .protocolRules)
    } catch let error as ClientError {
      if case .store = error.cause {
        // The stored body proved to be damaged while it was read.
        if let page = try? await receive(item, .reload) { return page }
      }
      return failed(item, error)
    } catch let error as Unending {
      return FetchedPage(item: item, outcome: .failed(error.reason))
    } catch {
      return FetchedPage(item: item, outcome: .leftOut)
    }
  }

  /// Returns the rules of a host (RFC 9309, section 2.3.1). They come from the store while they are
  /// fresh there.
  func rules(at url: NormalizedURL) async -> Result<RobotsRules, NoRules> {
    do throws(ClientError) {
      let lifetime = options.lifetime.map { min($0, CrawlOptions.longestRulesLifetime) }
      let response = try await answer(
        to: HTTPRequest(url: url), FetchOptions(lifetime: lifetime))
      let status = response.head.status
      // A part of the file may lack the rules that matter.
      guard (200...299).contains(status), status != 206 else {
        response.body.cancel()
        return status < 500 && status != 429 && status != 206
          ? .success(.allowingAll)
          : .failure(NoRules(reason: "\(url): the server answered \(status); try again later"))
      }
      if response.head.fields.contentCodings != nil {
        response.body.cancel()
        return .failure(
          NoRules(reason: "\(url): it came with a content coding, so its rules are not known"))
      }
      let end = ContinuousClock.now + options.longestBody
      var bytes: [UInt8] = []
      while bytes.count <= RobotsRules.maximumBytes, let piece = try await response.body.next() {
        bytes += piece
        guard response.source == .network else { continue }
        budget.add(piece.count)
        if budget.isSpent || ContinuousClock.now > end {
          response.body.cancel()
          return .failure(NoRules(reason: "\(url): it did not end within the limits of this crawl"))
        }
      }
      response.body.cancel()
      guard let rules = RobotsRules(bytes, for: options.agent) else {
        return .failure(NoRules(reason: "\(url): it has too many rules to obey them"))
      }
      return .success(rules)
    } catch {
      if case .tooManyRedirects = error.cause { return .success(.allowingAll) }
      return .failure(NoRules(reason: options.text(error)))
    }
  }

  private func receive(_ item: CrawlItem, _ policy: CachePolicy) async throws -> FetchedPage {
    // What is not coded suits every client that asks for it without a network.
    let request = HTTPRequest(url: item.url, fields: [HTTPField("Accept-Encoding", "identity")])
    let fetchOptions = FetchOptions(
      policy: policy, lifetime: options.lifetime, maximumRedirects: 0)
    let response = try await answer(to: request, fetchOptions)
    if response.source == .network, let busy = Self.busy(response) {
      response.body.cancel()
      return FetchedPage(item: item, outcome: .failed(busy))
    }
    let type = MediaType(response.head.fields)
    let bytes = try await beginning(of: response, hasReferences: type.hasReferences)
    if case .notStored(.failed(let error)) = response.body.storing,
      [.leastRecent, .notFound].contains(error.code)
    {
      return FetchedPage(item: item, outcome: .leftOut, storeError: error)
    }
    var page = FetchedPage(item: item, outcome: .kept(isNew: response.source == .network))
    if let error = response.originError {
      page.isReachable = false
      page.outcome = .failed("the server does not answer: \(error.cause); the stored copy is kept")
    } else if let reason = await whyNotOffline(response, request) {
      let words = if case .failed(let error) = reason { options.text(error) } else { "\(reason)" }
      page.outcome = .failed("it is fetched, but not there offline: \(words)")
      page.isNoStore = reason == .forbidden(.noStoreResponse) && !client.options.rules.keepsNoStore
    } else if type.hasReferences, response.head.fields.contentCodings != nil {
      page.outcome = .failed("it came with a content coding, so its links are not seen")
    }
    try read(response.head, bytes, type, into: &page)
    return page
  }

  /// Reads a body to its end, unless it seems to have none: radio, or a camera.
  ///
  /// - Returns: its beginning, if it may have references.
  private func beginning(
    of response: ClientResponse, hasReferences: Bool
  ) async throws -> [UInt8] {
    let body = response.body
    let isNew = response.source == .network
    if isNew, let length = response.head.fields.contentLength, length >= budget.limit {
      body.cancel()
      throw Unending(reason: "it has \(length) bytes, the limit of this crawl is \(budget.limit)")
    }
    let end = ContinuousClock.now + options.longestBody
    var bytes: [UInt8] = []
    var count: UInt64 = 0
    while let piece = try await body.next() {
      // One more shows that the page is too long.
      let room = CrawlOptions.maximumPageBytes + 1 - bytes.count
      if hasReferences, room > 0 { bytes += piece.prefix(room) }
      guard isNew else { continue }
      budget.add(piece.count)
      count += UInt64(piece.count)
      let isSearched = hasReferences && room > piece.count
      if !isSearched, count > CrawlOptions.maximumUnkeptBytes, !body.isKept {
        body.cancel()
        return bytes
      }
      if budget.isSpent || response.head.fields.contentLength == nil && ContinuousClock.now > end {
        body.cancel()
        if count >= budget.limit {
          throw Unending(reason: "it is longer than the limit of this crawl, \(budget.limit) bytes")
        }
        if budget.isSpent { throw LimitReached() }
        throw Unending(reason: "it has no length, and did not end within \(options.longestBody)")
      }
    }
    return bytes
  }

  /// Sends a request; again, after a wait, if the server says that it is busy (RFC 6585, section 4;
  /// RFC 9110, section 15.6.4). The connection to the host counts as used meanwhile.
  private func answer(
    to request: HTTPRequest, _ fetchOptions: FetchOptions
  ) async throws(ClientError) -> ClientResponse {
    var fetchOptions = fetchOptions
    var wait: Int64 = 1
    var retries = 0
    while true {
      let response = try await client.fetch(request, options: fetchOptions)
      let now = Timestamp(nanoseconds: SystemClock().now()).date
      let seconds = RetryAfter.seconds(response.head.fields, now: now) ?? wait
      guard response.source == .network, Self.busy(response) != nil,
        retries < CrawlOptions.maximumRetries, seconds <= CrawlOptions.maximumWait,
        !budget.isSpent, !Task.isCancelled
      else { return response }
      response.body.cancel()
      await options.wait(.seconds(seconds))
      retries += 1
      wait *= 2
      // The answer may be stored, if it has a lifetime.
      fetchOptions.policy = .reload
    }
  }

  /// Returns what is reported of an answer of a busy server; `nil` for any other.
  private static func busy(_ response: ClientResponse) -> String? {
    let status = response.head.status
    guard status == 429 || status == 503 else { return nil }
    let stated = response.head.fields.first(named: "Retry-After")?.text
    let wait = stated.map { " (Retry-After: \($0))" } ?? ""
    return "the server is busy, it answered \(status)\(wait); run the crawl again later"
  }

  private func read(
    _ head: HTTPResponseHead, _ bytes: [UInt8], _ type: MediaType, into page: inout FetchedPage
  ) throws(ClientError) {
    let url = page.item.url
    do throws(TransportError) {
      page.redirect = try Redirection.next(
        after: head, to: HTTPRequest(url: url), nil,
        allowsInsecure: client.options.transport.allowsInsecureRedirects)?.0.url
    } catch {
      throw ClientError(.transport(error), url: url.string)
    }
    if let target = page.redirect {
      if page.item.redirects.contains(target) || target == url {
        page.outcome = .failed("it redirects in a circle")
        page.redirect = nil
      } else if target.string.utf8.count > References.maximumLength {
        let limit = References.maximumLength
        page.outcome = .failed("it redirects to a URL of more than \(limit) bytes")
        page.redirect = nil
      } else if page.item.redirects.count == CrawlOptions.maximumRedirects {
        throw ClientError(
          .tooManyRedirects(maximum: CrawlOptions.maximumRedirects), url: url.string)
      }
    } else if (200...299).contains(head.status), head.status != 206 {
      add(Self.references(in: bytes, type), to: &page)
    } else {
      page.outcome = .refused(status: head.status)
    }
  }

  /// The most bytes of all references of a document, each counted with the path that it is relative
  /// to. Further ones are left out.
  private static let maximumURLBytes = 16 << 20

  private static func references(in bytes: [UInt8], _ type: MediaType) -> References {
    var bytes = bytes
    let isLong = bytes.count > CrawlOptions.maximumPageBytes
    if isLong {
      // The last reference may be cut, and would be another one.
      let end = bytes.lastIndex(of: UInt8(ascii: type.isStyle ? "}" : ">"))
      bytes.removeSubrange((end ?? 0)...)
    }
    var found = References()
    if type.isStyle {
      found.add(style: bytes)
    } else if type.hasReferences {
      let end = threadNanoseconds() + CrawlOptions.maximumReadingNanoseconds
      found = LinkExtractor.references(in: bytes, charset: type.charset) {
        Task.isCancelled || threadNanoseconds() > end
      }
    }
    if isLong { found.cut = found.cut ?? "it is longer than 16 MiB" }
    return found
  }

  /// Adds the references that the crawl follows to a page, which fails if not all of them were found.
  private func add(_ found: References, to page: inout FetchedPage) {
    var cut = found.cut
    let item = page.item
    let isFollowed: [Reference.Kind: Bool] = [
      .requisite: item.nesting < CrawlOptions.maximumNesting,
      .link: !found.forbidsFollowing && item.depth < options.depth,
    ]
    let base = found.base.flatMap { try? item.url.resolving($0) } ?? item.url
    // A link may lead to what is a part of the document, too.
    var seen: [Reference.Kind: Set<NormalizedURL>] = [:]
    // With a hostile base, each short reference takes long to resolve, and becomes a long URL.
    let length = base.string.utf8.prefix { $0 != UInt8(ascii: "?") }.count
    var room = Self.maximumURLBytes
    var isAnyLong = found.long.contains { reference in
      isFollowed[reference.kind] == true
        && (try? base.resolving(reference.text)).map { mayFollow(reference.kind, $0) } == true
    }
    for reference in found.all where isFollowed[reference.kind] == true {
      room -= length + reference.text.utf8.count
      if room < 0 {
        cut = cut ?? "it has more than 16 MiB of URLs"
        break
      }
      guard let target = try? base.resolving(reference.text) else { continue }
      if target.string.utf8.count > References.maximumLength {
        isAnyLong = isAnyLong || mayFollow(reference.kind, target)
      } else if seen[reference.kind, default: []].insert(target).inserted {
        switch reference.kind {
        case .requisite: page.requisites.append(target)
        case .link: page.links.append(target)
        }
      }
    }
    if found.crowdedKinds.contains(where: { isFollowed[$0] == true }) {
      cut = cut ?? "it has more than \(References.maximumCount) links"
    }
    if isAnyLong {
      cut = cut ?? "it has a URL of more than \(References.maximumLength) bytes"
    }
    guard let cut, case .kept = page.outcome else { return }
    page.outcome =
      Task.isCancelled ? .leftOut : .failed("\(cut), so some of its links are not seen")
  }

  /// Returns whether the crawl goes to the host of a reference.
  private func mayFollow(_ kind: Reference.Kind, _ target: NormalizedURL) -> Bool {
    kind == .requisite || !options.staysOnHost || hosts.contains(target.host)
  }

  /// Returns why an answer is not there without a network; `nil` if it is.
  private func whyNotOffline(
    _ response: ClientResponse, _ request: HTTPRequest
  ) async -> NotStored? {
    guard case .notStored(let reason) = response.body.storing else { return nil }
    // The history may have it.
    let stored = try? await client.fetch(
      request, options: FetchOptions(policy: .offline, maximumRedirects: 0))
    stored?.body.cancel()
    return stored == nil && response.head.status < 400 ? reason : nil
  }

  private func failed(_ item: CrawlItem, _ error: ClientError) -> FetchedPage {
    var page = FetchedPage(item: item, outcome: .failed(options.text(error)))
    if case .transport(let error) = error.cause {
      page.isReachable = !error.isUnreachable
      if error.code == .cancelled { page.outcome = .leftOut }
    }
    return page
  }
}

/// The parts of a `Content-Type` that matter here.
private struct MediaType {
  let isStyle: Bool
  let hasReferences: Bool
  let charset: String?

  init(_ fields: HTTPFields) {
    let parts = (fields.first(named: "Content-Type")?.text ?? "").split(separator: ";")
    let essence = parts.first.map { References.trimmed($0).lowercased() } ?? ""
    isStyle = essence == "text/css"
    hasReferences =
      isStyle || ["text/html", "application/xhtml+xml", "image/svg+xml"].contains(essence)
    charset = parts.dropFirst().lazy.map { References.trimmed($0) }
      .first { $0.lowercased().hasPrefix("charset=") }
      .map { String($0.dropFirst(8).filter { $0 != "\"" && $0 != "'" }) }
  }
}
