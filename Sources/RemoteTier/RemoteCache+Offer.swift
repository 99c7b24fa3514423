package import CacheFormat
import CacheSystem
import HTTPSemantics
package import HTTPTransports
import MessageDigests

/// A response to offer, read when its turn comes.
package struct RemoteOffer: Sendable {
  /// The response; ``SharedResponse/inlineBody`` is set here if the body is short.
  package let response: SharedResponse
  /// Returns the body. Is called again if a server wants it again.
  package let body: @Sendable () -> RequestBody?

  package init(response: SharedResponse, body: @escaping @Sendable () -> RequestBody?) {
    self.response = response
    self.body = body
  }
}

extension RemoteCache {
  /// The number of times that a document is read and written again when another writer was faster.
  private static let attempts = 4

  /// The newest purge that this machine has seen: to be read before a response is requested, and
  /// given to ``offer(_:variant:length:seen:_:)``.
  package var purgeNumber: UInt64 { purges.list.newest }

  /// Offers a response in the background.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - variant: Tells the responses of a key apart: a later offer replaces one that waits.
  ///   - length: The number of bytes of the body.
  ///   - seen: The ``purgeNumber`` before the response was requested.
  ///   - read: Returns the response, or `nil` if there is nothing to offer any more.
  package func offer(
    _ key: ByteString, variant: UInt64, length: UInt64, seen: UInt64,
    _ read: @escaping @Sendable () async -> RemoteOffer?
  ) {
    guard options.mode.writes, length <= options.maximumBodyBytes else { return }
    queue.add(
      UploadQueue.Item(key: key, variant: variant, bytes: length) { [weak self] in
        await self?.upload(key, seen: seen, read)
      })
  }

  /// Stops using the document of a key, because this machine is changing the resource. Must be
  /// followed by ``invalidate(_:)``.
  package func block(_ key: ByteString) { _ = blocked.insert(name(of: key)) }

  /// Forgets the document of a key, because this machine has changed the resource: it is not used
  /// here from now on, and emptied in the background, for the other machines. As long as that fails,
  /// or is dropped because too many offers wait, it stays unused here, and is tried again after the
  /// next offer that succeeds, and when the purge list was read; of more than 1,000 such documents,
  /// the others are not.
  package func invalidate(_ key: ByteString) {
    if options.mode.writes { noteUnemptied(key, on: allServers, isWaiting: true) }
    addEmptying(of: key)
  }

  private func addEmptying(of key: ByteString, isAgain: Bool = false) {
    let token = blocked.insert(name(of: key))
    guard options.mode.writes else { return }
    queue.add(
      UploadQueue.Item(key: key, variant: .max, bytes: 0) { [weak self] in
        await self?.empty(key, token, isAgain: isAgain)
      } onDrop: { [weak self] in
        self?.unemptied.withLock { $0[key]?.isWaiting = false }
      })
  }

  /// Empties the document on the servers on which that has not succeeded yet; at first on all: any of
  /// them may have it, from a time when others were not available. On a server that has done it, the
  /// document may be a newer one of another machine.
  private func empty(_ key: ByteString, _ token: UInt64, isAgain: Bool) async {
    let known = unemptied.withLock { $0.removeValue(forKey: key)?.servers } ?? allServers
    var (left, now) = (known, clock.monotonic())
    let name = name(of: key)
    let document = SharedDocument(
      namespace: options.namespace, key: key, generation: purges.list.newest, responses: [])
    let bytes = SignedDocument.encode(document.encoded(), bodies: [], secret: options.secret)
    var failure: RemoteReason?
    for (index, time) in known.sorted(by: { $0.key < $1.key }) where time <= now {
      do throws(RemoteReason) {
        try await empty(name, bytes, on: servers[index])
        left[index] = nil
      } catch {
        let isAway = [.open, .unreachable].contains(error)
        let pause = isAway ? 0 : Self.unemptiedPause
        left[index] = isAgain ? now + pause : .min
        failure = failure ?? error
      }
    }
    if left.isEmpty { blocked.release(name, token) } else { noteUnemptied(key, on: left) }
    if let failure, !isAgain { count { $0.offersFailed[failure, default: 0] += 1 } }
    // A server that was being probed may be back.
    if left.count < known.count || failure == .open { emptyAgain() }
  }

  private func empty(
    _ name: ObjectName, _ bytes: [UInt8], on server: TierServer
  ) async throws(RemoteReason) {
    // An empty document where there was none is of no use.
    if case .absent = try await server.document(name, use: .writing) { return }
    let status = try await server.put(name, bytes, condition: nil)
    guard TierServer.stored.contains(status) else { throw .serverError }
  }

  /// The most keys whose documents are emptied again after a failure.
  private static let maximumUnemptied = 1_000

  /// The time after which a server is asked again that answers, but does not empty a document, in
  /// nanoseconds. If it does not answer, its breaker says when.
  private static let unemptiedPause: Int64 = 60_000_000_000

  private var allServers: [Int: Int64] {
    Dictionary(uniqueKeysWithValues: servers.indices.map { ($0, .min) })
  }

  private func noteUnemptied(
    _ key: ByteString, on servers: [Int: Int64], isWaiting: Bool = false
  ) {
    unemptied.withLock { keys in
      guard keys[key] != nil || keys.count < Self.maximumUnemptied else { return }
      keys[key, default: Unemptied()].servers.merge(servers, uniquingKeysWith: min)
      if isWaiting { keys[key]?.isWaiting = true }
    }
  }

  /// Tries again to empty documents, as a server seems to work: a few, and the next ones after each
  /// that succeeds, so that they neither fill the queue nor all fail. Those come first that were not
  /// tried again yet, or longest ago.
  func emptyAgain() {
    let now = clock.monotonic()
    let working = Set(servers.indices.filter { servers[$0].refusal(of: .writing) == nil })
    let next = unemptied.withLock { keys -> [ByteString] in
      let room = max(1, options.uploads) - keys.values.count { $0.isWaiting }
      guard room > 0 else { return [] }
      let due = keys.compactMap { key, state -> (key: ByteString, time: Int64)? in
        let times = state.servers.filter { $0.value <= now && working.contains($0.key) }.values
        return state.isWaiting ? nil : times.min().map { (key, $0) }
      }
      let next = due.sorted { $0.time < $1.time }.prefix(room).map(\.key)
      for key in next { keys[key]?.isWaiting = true }
      return next
    }
    for key in next { addEmptying(of: key, isAgain: true) }
  }

  private func upload(
    _ key: ByteString, seen: UInt64, _ read: @Sendable () async -> RemoteOffer?
  ) async {
    let name = name(of: key)
    do throws(RemoteReason) {
      let server = try server(for: name, .writing)
      guard let offer = await read() else { return }
      try await put(bodyOf: offer, on: server)
      try await write(offer.response, key, name, seen: seen, on: server)
      absent.forget(name)
      count { $0.offersStored += 1 }
      emptyAgain()
    } catch {
      count { $0.offersFailed[error, default: 0] += 1 }
    }
  }

  /// Puts the body before the document that names it. A damaged one is replaced.
  private func put(bodyOf offer: RemoteOffer, on server: TierServer) async throws(RemoteReason) {
    let response = offer.response
    guard response.inlineBody == nil else { return }
    let name = ObjectName.body(response.bodyDigest)
    var isDamaged = damagedBodies.withLock { $0.contains(response.bodyDigest) }
    if !isDamaged {
      switch try await server.presence(of: name, length: response.length) {
      case .whole: return
      case .otherLength: isDamaged = true
      case .absent: break
      }
    }
    let status = try await server.put(
      name, length: response.length, digest: response.bodyDigest,
      condition: isDamaged ? nil : HTTPField("If-None-Match", "*"), body: offer.body)
    switch status {
    case _ where TierServer.stored.contains(status):
      damagedBodies.withLock { _ = $0.remove(response.bodyDigest) }
      return count { $0.bytesWritten += response.length }
    case 412: return
    case 409: break
    default: throw .serverError
    }
    guard case .whole = try await server.presence(of: name, length: response.length)
    else { throw .serverError }
  }

  /// Adds a response to the document of its key.
  private func write(
    _ response: SharedResponse, _ key: ByteString, _ name: ObjectName, seen: UInt64,
    on server: TierServer
  ) async throws(RemoteReason) {
    try await purges.refresh(within: Self.purgeAge, use: .writing)
    for _ in 0..<Self.attempts {
      let (known, tag) = try await existing(key, name, on: server)
      guard
        let document = known.adding(
          response, seen: seen, purges: purges.list, now: Timestamp(nanoseconds: clock.wall.now()))
      else {
        throw .purged
      }
      if document == known { return }
      let condition = tag.map { HTTPField("If-Match", $0) } ?? HTTPField("If-None-Match", "*")
      // A weak tag never matches, and a server without tags has no conditions.
      let isUsable = tag?.hasPrefix("W/") != true && tag != ""
      let status = try await server.put(
        name, try encoded(document), condition: isUsable ? condition : nil)
      switch status {
      case _ where TierServer.stored.contains(status): return
      case 409, 412: continue
      default: throw .serverError
      }
    }
    throw .contended
  }

  /// Returns the document that is there, without what this machine cannot read, and its entity tag:
  /// `nil` if there is no document, empty if the server gives none.
  private func existing(
    _ key: ByteString, _ name: ObjectName, on server: TierServer
  ) async throws(RemoteReason) -> (SharedDocument, tag: String?) {
    let empty = SharedDocument(namespace: options.namespace, key: key, generation: 0, responses: [])
    switch try await server.document(name, use: .writing) {
    case .absent, .unchanged: return (empty, nil)
    case .bytes(let bytes, let tag):
      return ((try? document(bytes, of: key)) ?? empty, tag ?? "")
    }
  }

  /// Returns the bytes of a document, without the oldest responses if it would be too long.
  private func encoded(_ document: SharedDocument) throws(RemoteReason) -> [UInt8] {
    var document = document
    while !document.responses.isEmpty {
      let bodies = document.responses.filter { $0.inlineBody == nil }
      let bytes = SignedDocument.encode(
        document.encoded(), bodies: bodies.map { ($0.bodyDigest, $0.length) },
        secret: options.secret)
      if bytes.count <= SharedDocument.maximumBytes { return bytes }
      document.responses.removeLast()
    }
    throw .tooLarge
  }
}
