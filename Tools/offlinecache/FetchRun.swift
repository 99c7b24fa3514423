import CacheClient
import CacheStore
import CommandLineTools
import HTTPCaching
import HTTPSemantics

struct FetchRun: Sendable {
  private let client: CachingClient
  private let policy: CachePolicy
  private let target: FetchTarget
  private let addresses: [String]
  private let fields: HTTPFields
  private let report: FetchReport
  private let progress: ProgressLine

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

  /// Fetches all URLs. A failed fetch is reported and does not stop the others.
  func all(jobs: Int) async throws -> ExitStatus {
    let result = await Interruption.cancelling { try await fetchAll(jobs) }
    progress.finish()
    try report.flush()
    if Interruption.requested == nil { try result.get() }
    let status = report.finish()
    try Interruption.check()
    return status
  }

  private func fetchAll(_ jobs: Int) async throws {
    let queue = AddressQueue(addresses)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<min(jobs, addresses.count) {
        group.addTask {
          while !Task.isCancelled, let address = queue.next() { try await fetch(address) }
        }
      }
      try await group.waitForAll()
    }
  }

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
      // A cancelled fetch was interrupted. That is reported once, not for every URL.
      if Task.isCancelled { return }
      outcome = .failed(error, note: await offlineNote(error, address))
    }
    progress.advance(items: 1)
    try report.add(outcome, address)
  }

  /// Fetches a URL. If the stored body proves to be damaged while it is read, it is fetched again.
  private func receive(_ url: NormalizedURL) async throws -> FetchOutcome {
    do {
      return try await receive(url, policy)
    } catch let error as ClientError {
      // Bytes already written to standard output cannot be taken back.
      guard case .store = error.cause, policy.allowsNetwork, !target.isStandardOutput else {
        throw error
      }
      return try await receive(url, .reload)
    }
  }

  private func receive(_ url: NormalizedURL, _ policy: CachePolicy) async throws -> FetchOutcome {
    var file = try target.open(for: url, isGood: nil)
    let response = try await client.fetch(
      HTTPRequest(url: url, fields: fields), options: FetchOptions(policy: policy))
    let status = response.head.status
    // A part is a success only if one was asked for, with --header.
    let isGood = (200...299).contains(status) && (status != 206 || fields.contains("Range"))
    // A body that cannot be written is stored all the same.
    var failure: OutputError?
    if !isGood {
      file = nil
    } else if file == nil {
      do throws(OutputError) {
        file = try target.open(for: url, isGood: true)
      } catch {
        failure = error
      }
    }
    if addresses.count == 1, let length = response.head.fields.contentLength {
      progress.set(done: 0, total: 1, bytes: 0, totalBytes: length)
    }
    var length: UInt64 = 0
    while let piece = try await response.body.next() {
      try Interruption.check()
      do throws(OutputError) {
        if failure == nil { try file?.write(piece) }
      } catch {
        if target.isStandardOutput { throw error }
        failure = error
      }
      length += UInt64(piece.count)
      progress.advance(bytes: UInt64(piece.count))
    }
    if let failure { throw failure }
    try file?.finish()
    guard isGood else {
      return .refused(status, refusal(response, status))
    }
    return await outcome(response, url, status, length)
  }

  private func refusal(_ response: ClientResponse, _ status: Int) -> String {
    // Servers confirm only what has a status of success, so this is not their answer of today.
    response.source != .network && status >= 400
      ? Refusal.stored(status, isOffline: !policy.allowsNetwork)
      : Refusal.text(status, Refusal.location(response.head))
  }

  private func outcome(
    _ response: ClientResponse, _ url: NormalizedURL, _ status: Int, _ length: UInt64
  ) async -> FetchOutcome {
    if response.source == .substitute { return .done("local", status, length, note: nil) }
    if case .notStored(.failed(let error)) = response.body.keeping {
      // With -o the user has the body, and may have set the limit to keep such bodies out.
      if error.code == .entryTooLarge, !target.isNone {
        return .done("passed", status, length, note: OptionAdvice.text(error))
      }
      return .failed(reason(error))
    }
    switch response.body.storing {
    case .fromStore:
      let (word, stale) = worth(response)
      let redirect = await redirectNote(response, url)
      return .done(word, status, length, note: stale ?? redirect)
    case .stored: return .done("stored", status, length, note: await redirectNote(response, url))
    case .notStored(let reason):
      return .done("passed", status, length, why: reason.description, note: nil)
    case .pending: return .done("passed", status, length, note: nil)
    }
  }

  /// Returns why a response could not be stored. The store may have been opened for reading only because
  /// it cannot be written; then this is the reason for that.
  private func reason(_ error: StoreError) -> StoreError {
    guard error.code == .readOnly, error.errno == 0 else { return error }
    do throws(StoreError) { try StorePlace.checkWritable(error.path) } catch { return error }
    return error
  }

  /// Returns the word for a stored response and, if it is stale, the reason.
  private func worth(_ response: ClientResponse) -> (word: String, note: String?) {
    let status = response.cacheStatus
    if response.reason == nil { return (status.detail == "remote-hit" ? "remote" : "hit", nil) }
    if let error = response.originError {
      let what = status.detail == "history" ? "what was seen last" : "the stored response"
      return ("stale", "the server does not answer: \(error.cause); \(what) is used")
    }
    if let code = status.forwardStatus, code != 304 {
      return ("stale", "the server answered \(code); the stored response is used")
    }
    return ("valid", nil)
  }

  /// Returns a note if the URL redirects and the redirect is not stored: offline, the URL is then
  /// not found.
  private func redirectNote(_ response: ClientResponse, _ url: NormalizedURL) async -> String? {
    guard response.url != url, policy.allowsNetwork, await !isThereOffline(url) else { return nil }
    return "it redirects, and the server does not allow storing that; offline, ask for "
      + response.url.string
  }

  /// Returns a note if a server that cannot be reached, or whose answer cannot be decoded, has allowed
  /// no use of what is stored without asking it; also if nothing is stored, perhaps for `no-store`.
  private func offlineNote(_ error: any Error, _ address: String) async -> String? {
    if !policy.allowsNetwork, !client.options.rules.keepsNoStore,
      case .notStored(.absent) = (error as? ClientError)?.cause
    {
      return "what says no-store is kept only with --keep-no-store"
    }
    guard policy.allowsNetwork, (error as? ClientError)?.mayHaveStandIn == true,
      let url = try? NormalizedURL(address), await isThereOffline(url)
    else { return nil }
    return "--offline returns what is stored"
  }

  private func isThereOffline(_ url: NormalizedURL) async -> Bool {
    let stored = try? await client.fetch(
      HTTPRequest(url: url, fields: fields), options: FetchOptions(policy: .offline))
    stored?.body.cancel()
    return stored != nil
  }
}
