import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Keeps the purge list of a namespace: reads it from all servers, joins what they have, and writes
/// it back where a purge is missing. What was read once is never forgotten.
package final class PurgeFollower: Sendable {
  /// Is called with a newer list; calls may overlap.
  package typealias Listener = @Sendable (_ list: PurgeList) async -> Void

  /// The list of a server, as it was when it was last read and not written since.
  private struct Stored {
    var list = PurgeList()
    /// Its entity tag; `nil` if there is no list, or if it has no tag.
    var tag: String?
    /// The time at which the tag was seen first.
    var seenAt: Int64 = 0
    /// Whether the list was read some seconds after that. Before that, another list may have the same
    /// tag: that of nginx is made of the second of the change and the length.
    var isSettled = false
    /// The condition for writing that nobody else has written since; `nil` if there is none that
    /// could hold.
    var condition: HTTPField?
  }

  private struct State {
    var list = PurgeList()
    /// The time of the last reading that succeeded.
    var readAt: Int64?
    /// The lists of the servers.
    var stored: [Int: Stored] = [:]
    /// The readings that run, each for callers with the same time limits.
    var readings: [TierServer.Use: Promise<RemoteReason?>] = [:]
    /// The servers to which a list is being written back.
    var writing: Set<Int> = []
    var listeners: [UInt64: Listener] = [:]
    var nextListener: UInt64 = 0
  }

  private let servers: [TierServer]
  private let options: RemoteCacheOptions
  private let clock: TierClock
  private let name: ObjectName
  private let state = Lock(State())

  init(_ servers: [TierServer], _ options: RemoteCacheOptions, _ clock: TierClock) {
    self.servers = servers
    self.options = options
    self.clock = clock
    name = .purgeList(of: options.namespace)
  }

  /// The purges that are known.
  package var list: PurgeList { state.withLock { $0.list } }

  /// Adds a listener; returns the number with which it can be removed.
  package func add(_ listener: @escaping Listener) -> UInt64 {
    state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = listener
      return state.nextListener
    }
  }

  package func removeListener(_ number: UInt64) {
    // Released after the lock, because its deinit may run foreign code.
    _ = state.withLock { $0.listeners.removeValue(forKey: number) }
  }

  /// Reads the list if that was not done within a time, in nanoseconds. Callers with the same use share
  /// one reading: a look-up must not wait for the longer time limits of an upload.
  ///
  /// - Throws: the reason why no server has given a list, or said that there is none.
  package func refresh(
    within age: Int64 = 0, use: TierServer.Use = .reading
  ) async throws(RemoteReason) {
    let now = clock.monotonic()
    let (promise, isMine) = state.withLock { state -> (Promise<RemoteReason?>?, Bool) in
      if let readAt = state.readAt, now - readAt < age { return (nil, false) }
      if let reading = state.readings[use] { return (reading, false) }
      let promise = Promise<RemoteReason?>()
      state.readings[use] = promise
      return (promise, true)
    }
    guard let promise else { return }
    if isMine {
      // A task of its own, so that others get a result although this one is cancelled.
      Task { [self] in
        let reason = await read(use, since: now)
        state.withLock { $0.readings[use] = nil }
        promise.settle(reason)
      }
    }
    guard let result = await promise.value() else { throw .cancelled }
    if let result { throw result }
  }

  private func read(_ use: TierServer.Use, since start: Int64) async -> RemoteReason? {
    // All at once: one that hangs must not add its time limit to those of others.
    let reasons = await withTaskGroup(of: RemoteReason?.self) { group in
      for index in servers.indices {
        group.addTask { [self] in await failure(index, use) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    guard reasons.contains(nil) else { return reasons.first ?? nil }
    state.withLock { $0.readAt = start }
    return nil
  }

  private func failure(_ index: Int, _ use: TierServer.Use) async -> RemoteReason? {
    do throws(RemoteReason) {
      _ = try await read(index, use)
      return nil
    } catch {
      return error
    }
  }

  /// The time after which the tag of a list changes with the list.
  private static let settlesAfter: Int64 = 2_000_000_000

  /// Reads the list of one server; one without a list has no purges. A server that lacks purges gets
  /// them back, unless somebody has written since; in the background, if somebody waits for an answer.
  ///
  /// - Returns: the list, and the reason why another one could not be written.
  /// - Throws: the reason why it cannot be read.
  private func read(
    _ index: Int, _ use: TierServer.Use
  ) async throws(RemoteReason) -> (found: PurgeList, failure: RemoteReason?) {
    let known = state.withLock { $0.stored[index] }
    let now = clock.monotonic()
    let found: Stored
    switch try await servers[index].document(
      name, use: use, unless: known?.isSettled == true ? known?.tag : nil)
    {
    case .unchanged: found = known ?? Stored()
    case .absent: found = Stored(condition: HTTPField("If-None-Match", "*"))
    case .bytes(let bytes, let tag):
      state.withLock { $0.stored[index] = nil }
      let tag = tag?.isEmpty == true ? nil : tag
      // A weak tag never matches.
      let condition = tag.flatMap { $0.hasPrefix("W/") ? nil : HTTPField("If-Match", $0) }
      let seenAt = known?.tag == tag ? known?.seenAt ?? now : now
      found = Stored(
        list: try decoded(bytes), tag: tag, seenAt: seenAt,
        isSettled: now - seenAt >= Self.settlesAfter, condition: condition)
    }
    state.withLock { $0.stored[index] = found }
    await change { $0.joined(with: found.list) }
    let list = list
    guard options.mode.writes, found.list.union(list) != found.list else {
      return (found.list, nil)
    }
    if use == .reading {
      writeBack(list, to: index, found.condition)
      return (found.list, nil)
    }
    do throws(RemoteReason) {
      try await write(list, to: index, found.condition)
      return (found.list, nil)
    } catch {
      return (found.list, error)
    }
  }

  /// Writes a list in the background, unless that server is getting one.
  private func writeBack(_ list: PurgeList, to index: Int, _ condition: HTTPField?) {
    guard state.withLock({ $0.writing.insert(index).inserted }) else { return }
    Task { [self] in
      try? await write(list, to: index, condition)
      _ = state.withLock { $0.writing.remove(index) }
    }
  }

  private func decoded(_ bytes: [UInt8]) throws(RemoteReason) -> PurgeList {
    do throws(FormatError) {
      let inner = try SignedDocument.decode(bytes, secret: options.secret)
      return try PurgeList(decoding: inner, namespace: options.namespace)
    } catch {
      throw .badDocument
    }
  }

  private func change(_ change: (PurgeList) -> PurgeList) async {
    let (older, list, listeners) = state.withLock { state in
      let older = state.list
      state.list = change(older).bounded()
      return (older, state.list, Array(state.listeners.values))
    }
    guard list != older else { return }
    for listener in listeners { await listener(list) }
  }

  /// Writes a list if a condition holds, which servers may ignore.
  private func write(
    _ list: PurgeList, to index: Int, _ condition: HTTPField?
  ) async throws(RemoteReason) {
    let bytes = SignedDocument.encode(
      list.encoded(namespace: options.namespace), bodies: [], secret: options.secret)
    state.withLock { $0.stored[index] = nil }
    _ = try await servers[index].put(name, bytes, condition: condition)
  }
}

extension PurgeFollower {
  /// The number of times that the lists are read until all servers have a purge.
  private static let attempts = 20

  /// Adds a purge to the lists of all servers, and reads them again until it is in all of them.
  ///
  /// - Throws: ``RemoteCacheError/Code/purgeFailed`` if a server does not have it in the end. The others
  ///   may have it.
  func purge(_ scope: PurgeList.Scope) async throws(RemoteCacheError) {
    var (isAdded, wasEverywhere) = (false, false)
    var reason = RemoteReason.contended
    var server = servers[0].url
    func note(_ failure: RemoteReason, _ index: Int) {
      // That a server is not asked any more only follows from the cause.
      if reason != .contended, [.open, .off].contains(failure) { return }
      (reason, server) = (failure, servers[index].url)
    }
    for _ in 0..<Self.attempts {
      var isEverywhere = isAdded
      var (isSigned, bad) = (false, String?.none)
      for index in servers.indices {
        do throws(RemoteReason) {
          let (found, failure) = try await read(index, .writing)
          if found.number(of: scope) < list.number(of: scope) { isEverywhere = false }
          isSigned = isSigned || found != PurgeList()
          if let failure { note(failure, index) }
        } catch {
          if error == .badDocument {
            bad = servers[index].url
          } else {
            isEverywhere = false
            note(error, index)
          }
        }
      }
      // A wrong secret must not replace the list that all others use.
      if let bad, !isSigned { throw badList(at: bad) }
      if isEverywhere {
        if wasEverywhere, let bad { throw badList(at: bad) }
        if wasEverywhere { return }
        try? await Task.sleep(for: options.limits.settle)
      }
      wasEverywhere = isEverywhere
      if isAdded { continue }
      await change { list in
        var list = list
        list.add(scope, number: nextNumber(after: list))
        return list
      }
      isAdded = true
    }
    throw RemoteCacheError(
      .purgeFailed, server, problem: "the purge list was not written (\(reason))",
      remedy: "check the server, and purge again")
  }

  private func badList(at server: String) -> RemoteCacheError {
    RemoteCacheError(
      .purgeFailed, server,
      problem: "its purge list is damaged, or was signed with another secret",
      remedy: "check the secret; if it is right, delete \(name.path) there, and purge again")
  }

  /// Returns a number that is higher than all that are known, and than those of a list that all
  /// servers and machines may have lost: at least the microseconds since 1970.
  private func nextNumber(after known: PurgeList) -> UInt64 {
    max(known.nextNumber, UInt64(max(0, clock.wall.now() / 1_000)))
  }
}
