import CachingClient
import CommandLineOptions
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
      printsSummary: !isQuiet && addresses.count > 1, progress: progress)
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
    return outcome(response, status, length)
  }

  /// Says what the store's answer is worth.
  private func word(_ response: ClientResponse) -> String {
    if response.reason == nil { return "hit" }
    return response.cacheStatus.detail == nil ? "valid" : "stale"
  }

  private func outcome(
    _ response: ClientResponse, _ status: Int, _ length: UInt64
  ) -> FetchOutcome {
    if response.source == .substitute { return .done("local", status, length) }
    return switch response.body.storing {
    case .fromStore: .done(word(response), status, length)
    case .stored: .done("stored", status, length)
    case .notStored(.failed(let error)): .failed(error)
    case .notStored, .pending: .done("passed", status, length)
    }
  }
}
