package import CacheSystem
import MessageDigests
import Synchronization

/// A transport through which downloads share a tier, although they bypass the store: it queries the
/// tier before the origin, and offers the finished files.
///
/// The tier is queried for whole files only. Resumed and validated content comes from the origin.
package final class RemoteDownloads: HTTPTransport {
  /// An answer of the origin whose file will be offered.
  private struct Answer {
    let key: ByteString
    let head: HTTPResponseHead
    let form: SharedForm
    /// The newest purge that was known before the request.
    let seen: UInt64
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var found: Set<String> = []
    /// The URLs for which the tier has failed, or has a file that was not wanted. They are not looked up
    /// again.
    var failed: Set<NormalizedURL> = []
  }

  package let tier: RemoteCache
  private let transport: any HTTPTransport
  private let asksTier: Bool
  private let clock: any WallClock
  private let rules = CacheRules()
  private let state = Mutex(State())

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - tier: The tier.
  ///   - transport: Reaches the origins, without credentials of its own.
  ///   - asksTier: Whether files are looked up; otherwise they are only offered.
  package init(
    _ tier: RemoteCache, over transport: any HTTPTransport, asksTier: Bool = true,
    clock: any WallClock = SystemClock()
  ) {
    self.tier = tier
    self.transport = transport
    self.asksTier = asksTier
    self.clock = clock
  }

  private var now: Timestamp { Timestamp(nanoseconds: clock.now()) }

  package var isForOneUser: Bool { transport.isForOneUser }

  package var mayUseProxy: Bool { transport.mayUseProxy }

  package func reset() async { await transport.reset() }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    // The documents of the tier are named by the URL, which is not what another `Host` means.
    let isWhole =
      !isForOneUser && request.method == .get && body == nil && !request.hasCondition
      && !request.namesAnotherHost && !request.fields.contains("Range")
      && !request.fields.contains("Authorization")
    if isWhole, let response = await lookUp(request) { return response }
    let (requested, seen) = (now, tier.purgeNumber)
    let response = try await transport.send(
      request, body: body, options: options, onInterim: onInterim)
    let times = ResponseTimes(request: requested, response: now)
    guard response.head.status == 200 else { return response }
    var answer: Answer?
    // The file does not have the content coding of the answer.
    if isWhole, !response.head.fields.contains("Content-Encoding"),
      let form = SharedForm(response.head, to: request, times, rules)
    {
      answer = Answer(
        key: KeyRule.url.key(of: request), head: response.head, form: form, seen: seen)
    }
    // Also if there is none: a file that starts over has the bytes of this answer.
    state.withLock { $0.answers[request.url.string] = answer }
    return response
  }

  package func hasFound(_ url: String) -> Bool {
    state.withLock { $0.found.contains(url) }
  }
}

// Look-ups.
extension RemoteDownloads {
  private func lookUp(_ request: HTTPRequest) async -> TransportResponse? {
    let url = request.url
    guard asksTier, !state.withLock({ $0.failed.contains(url) }) else { return nil }
    let choose = { @Sendable [self] (responses: [SharedResponse]) -> Result<Int, RemoteReason> in
      let usable = responses.indices.filter { head(of: responses[$0], for: request) != nil }
      return usable.max { responses[$0].form.received < responses[$1].form.received }
        .map { .success($0) } ?? .failure(.noVariant)
    }
    guard let found = try? await tier.lookUp(KeyRule.url.key(of: request), choose: choose),
      let head = head(of: found.response, for: request)
    else { return nil }
    state.withLock { _ = $0.found.insert(url.string) }
    let body = RemoteDownloadBody(found.body, url) { [weak self] in
      self?.state.withLock { state in
        state.found.remove(url.string)
        state.failed.insert(url)
      }
    }
    return TransportResponse(head: head, url: url, body: body)
  }

  /// Returns the head with which a shared response answers a request, with the digest of the body:
  /// a part of the file that an interruption leaves is compared with it, whoever sends the rest.
  private func head(
    of response: SharedResponse, for request: HTTPRequest
  ) -> HTTPResponseHead? {
    let (form, now) = (response.form, now)
    guard form.received <= now,
      var head = form.freshHead(for: request, rules, now: now),
      !head.fields.contains("Content-Encoding")
    else { return nil }
    head.fields.replace(with: HTTPField("Content-Length", "\(response.length)"))
    head.fields.replace(
      with: HTTPField("Repr-Digest", "sha-256=:\(Base64.encode(response.bodyDigest)):"))
    return head
  }
}

// Offers.
extension RemoteDownloads {
  /// Offers a file that came from the origin, if machines may share it. Its bytes are those of the
  /// answer whose head it has: the first one, unless it started over.
  package func offer(_ file: DownloadedFile) {
    let url = file.record.answeredBy
    guard let answer = state.withLock({ $0.answers.removeValue(forKey: url) }),
      file.source == .network, let length = file.record.length, !hasFound(url),
      answer.head.fields.withoutCookies == file.record.head.fields.withoutCookies
    else { return }
    tier.offer(answer.key, variant: 0, length: length, seen: answer.seen) {
      await Self.read(file, answer.form)
    }
  }

  /// Reads a file once for its SHA-256; returns `nil` if it was changed since the download.
  private static func read(_ file: DownloadedFile, _ form: SharedForm) async -> RemoteOffer? {
    guard let content = try? UploadBody(file: file.path), content.length == file.record.length,
      isUnchanged(file)
    else { return nil }
    let isInline = content.length <= UInt64(SharedResponse.inlineBytes)
    let digest = MessageDigest(.sha256)
    var bytes: [UInt8] = []
    if case .stream(_, let source) = content.requestBody() {
      do {
        while let piece = try await source.next() {
          digest.update(piece)
          if isInline { bytes += piece }
        }
      } catch {
        return nil
      }
    }
    return RemoteOffer(
      response: SharedResponse(
        form, bodyDigest: digest.finish(), length: content.length,
        inlineBody: isInline ? bytes : nil)
    ) { content.requestBody() }
  }

  private static func isUnchanged(_ file: DownloadedFile) -> Bool {
    let files = RealFileSystem()
    guard let opened = try? files.open(userPath: file.path, [.read]) else { return false }
    return file.isUnchanged(opened, files)
  }
}

/// A body of the tier, one piece behind: the last piece is given away only when the whole body has
/// proved to be the right one.
private final class RemoteDownloadBody: CopiedBody {
  private let body: RemoteBody
  private let url: NormalizedURL
  private let onFailure: @Sendable () -> Void
  private let held = Mutex<[UInt8]?>(nil)

  init(_ body: RemoteBody, _ url: NormalizedURL, onFailure: @escaping @Sendable () -> Void) {
    self.body = body
    self.url = url
    self.onFailure = onFailure
  }

  var trailers: HTTPFields { [] }

  func next() async throws(TransportError) -> [UInt8]? {
    var piece = held.withLock { $0.take() }
    if piece == nil { piece = try await read() }
    guard piece != nil else { return nil }
    let following = try await read()
    held.withLock { $0 = following }
    return piece
  }

  func cancel() { body.cancel() }

  func refuse() { onFailure() }

  private func read() async throws(TransportError) -> [UInt8]? {
    do throws(RemoteReason) {
      return try await body.next()
    } catch {
      onFailure()
      throw TransportError(.truncatedBody, url: url.string, detail: error.rawValue)
    }
  }
}

extension HTTPFields {
  /// The fields without `Set-Cookie`, which a record of a download does not have.
  fileprivate var withoutCookies: HTTPFields {
    var fields = self
    fields.removeAll(named: "Set-Cookie")
    return fields
  }
}
