import CacheClient
import CacheStore
import CommandLineTools
import HTTPCaching
import HTTPSemantics

/// Fetches a list of URLs, several at a time, and reports on each.
struct FetchRun: Sendable {
  private let client: CachingClient
  private let policy: CachePolicy
  private let target: FetchTarget
  private let addresses: [String]
  private let fields: HTTPFields
  private let report: FetchReport
  private let progress: ProgressLine

  /// Prepares a run.
  init(
    client: CachingClient, policy: CachePolicy, target: FetchTarget, addresses: [String],
    fields: HTTPFields, isQuiet: Bool
  ) {
    self.client = client
    self.policy = policy
    self.target = target
    self.addresses = addresses
    self.fields = fields
    progress = ProgressLine(total: addresses.count, isEnabled: !isQuiet && Terminal.isTerminal(2))
    report = FetchReport(
      printsLines: !isQuiet && !target.isStandardOutput,
      printsSummary: !isQuiet && addresses.count > 1, isQuiet: isQuiet, progress: progress)
  }

  /// Fetches everything; what fails is reported and does not stop the rest.
  ///
  /// - Throws: ``OutputError`` when standard output fails; ``Interrupted``.
  func all(parallel: Int) async throws -> ExitStatus {
    let work = Task { try await fetchAll(parallel) }
    Interruption.onRequest { work.cancel() }
    let result = await work.result
    progress.finish()
    try Interruption.check()
    try result.get()
    return try report.finish()
  }

  private func fetchAll(_ parallel: Int) async throws {
    let queue = AddressQueue(addresses)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<min(parallel, addresses.count) {
        group.addTask {
          while !Task.isCancelled, let address = queue.next() { try await fetch(address) }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Fetches one URL and reports how that went.
  private func fetch(_ address: String) async throws(OutputError) {
    var address = address
    let outcome: FetchOutcome
    do {
      let url = try NormalizedURL(address)
      let typed = address
      if AddressList.hasCredentials(typed) { address = url.string }
      try AddressList.checkCredentials(typed, url)
      outcome = try await receive(url)
    } catch let error as OutputError where target.isStandardOutput {
      throw error
    } catch is Interrupted {
      return
    } catch {
      // What is cancelled was interrupted, which is told once and not for every URL.
      if Task.isCancelled { return }
      outcome = .failed(error)
    }
    progress.advance(items: 1)
    try report.add(outcome, address)
  }

  /// Fetches a URL; a stored body that turns out to be damaged on the way is fetched afresh.
  private func receive(_ url: NormalizedURL) async throws -> FetchOutcome {
    do {
      return try await receive(url, policy)
    } catch let error as ClientError {
      // What went to standard output cannot be taken back.
      guard case .store = error.cause, policy.allowsNetwork, !target.isStandardOutput else {
        throw error
      }
      return try await receive(url, .reload)
    }
  }

  private func receive(_ url: NormalizedURL, _ policy: CachePolicy) async throws -> FetchOutcome {
    let response = try await client.fetch(
      HTTPRequest(url: url, fields: fields), options: FetchOptions(policy: policy))
    let status = response.head.status
    // No range was asked for, so a part is not what was wanted.
    let isGood = (200...299).contains(status) && status != 206
    let file = isGood ? try target.open(for: url) : nil
    if addresses.count == 1, let length = response.head.fields.contentLength {
      progress.set(done: 0, total: 1, bytes: 0, totalBytes: length)
    }
    var length: UInt64 = 0
    while let piece = try await response.body.next() {
      try Interruption.check()
      try file?.write(piece)
      length += UInt64(piece.count)
      progress.advance(bytes: UInt64(piece.count))
    }
    try file?.finish()
    guard isGood else {
      return .refused(status, Refusal.location(response.head))
    }
    return await outcome(response, url, status, length)
  }

  private func outcome(
    _ response: ClientResponse, _ url: NormalizedURL, _ status: Int, _ length: UInt64
  ) async -> FetchOutcome {
    if response.source == .substitute { return .done("local", status, length, note: nil) }
    switch response.body.storing {
    case .fromStore:
      let (word, stale) = worth(response)
      let redirect = await redirectNote(response, url)
      return .done(word, status, length, note: stale ?? redirect)
    case .stored: return .done("stored", status, length, note: await redirectNote(response, url))
    case .notStored(.failed(let error)) where error.code == .entryTooLarge:
      return .done("passed", status, length, note: "\(error)")
    case .notStored(.failed(let error)): return .failed(error)
    case .notStored, .pending: return .done("passed", status, length, note: nil)
    }
  }

  /// Says what the store's answer is worth, and why it is stale.
  private func worth(_ response: ClientResponse) -> (word: String, note: String?) {
    let status = response.cacheStatus
    if response.reason == nil { return ("hit", nil) }
    if let detail = status.detail {
      return ("stale", "there is no answer of the server (\(detail)); this is what is stored")
    }
    if let code = status.forwardStatus, code != 304 {
      return ("stale", "the server answered \(code); this is what is stored")
    }
    return ("valid", nil)
  }

  /// Tells that a redirect on the way is not stored, where that is so: then the URL is not there offline.
  private func redirectNote(_ response: ClientResponse, _ url: NormalizedURL) async -> String? {
    guard response.url != url, policy.allowsNetwork else { return nil }
    let stored = try? await client.fetch(
      HTTPRequest(url: url, fields: fields), options: FetchOptions(policy: .offline))
    stored?.body.cancel()
    if stored != nil { return nil }
    return "it redirects, and the server does not let that be stored; offline, ask for "
      + response.url.string
  }
}
