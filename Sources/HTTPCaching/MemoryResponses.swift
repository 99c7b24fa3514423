package import CacheFormat
package import CacheStore
import CacheSystem
import Synchronization

/// Responses that are kept in memory and not stored, because the user requested that. They are lost
/// when the process ends.
///
/// The oldest are removed first if the total exceeds the limit.
package final class MemoryResponses: Sendable {
  private struct State {
    var variants: [ByteString: [StoredVariant]] = [:]
    var order: [StoredVariant] = []
    var bytes = 0
  }

  /// The estimated memory of a response without its key, metadata and body.
  private static let overhead = 1024

  private let maximumBytes: Int
  private let state = Lock(State())
  /// Avoids taking the lock in programs that keep no response here.
  private let isUsed = Atomic(false)

  /// - Parameter bytes: The limit of memory; 0 keeps nothing.
  init(bytes: Int) { maximumBytes = max(0, bytes) }

  /// The memory in use in bytes, roughly.
  var bytes: Int { state.withLock { $0.bytes } }

  func find(_ key: ByteString) -> [StoredVariant] {
    guard isUsed.load(ordering: .acquiring) else { return [] }
    return state.withLock { $0.variants[key] ?? [] }
  }

  package func contains(_ info: EntryInfo) -> Bool {
    find(info.key).contains { $0.info.variant == info.variant && $0.info.created == info.created }
  }

  /// Keeps a response, and replaces the same variant of its key.
  ///
  /// - Returns: Whether it is kept; false if it alone exceeds the limit.
  func insert(_ new: StoredVariant) -> Bool {
    guard Self.bytes(of: new) <= maximumBytes else { return false }
    isUsed.store(true, ordering: .releasing)
    state.withLock { insert(new, &$0) }
    return true
  }

  /// Replaces a response by its freshened form; returns false if it is not kept here any more.
  func replace(_ old: StoredVariant, by new: StoredVariant) -> Bool {
    guard isUsed.load(ordering: .acquiring) else { return false }
    return state.withLock { state in
      guard state.variants[old.info.key]?.contains(where: { $0.isSame(as: old) }) == true else {
        return false
      }
      insert(new, &state)
      return true
    }
  }

  private func insert(_ new: StoredVariant, _ state: inout State) {
    _ = remove({ $0.info.variant == new.info.variant }, of: new.info.key, &state)
    state.variants[new.info.key, default: []].append(new)
    state.order.append(new)
    state.bytes += Self.bytes(of: new)
    while state.bytes > maximumBytes, let oldest = state.order.first {
      _ = remove({ $0 === oldest }, of: oldest.info.key, &state)
    }
  }

  /// Removes the responses of a key for which the predicate holds, and returns their number.
  @discardableResult
  package func remove(_ key: ByteString, where holds: (EntryInfo) -> Bool = { _ in true }) -> Int {
    guard isUsed.load(ordering: .acquiring) else { return 0 }
    return state.withLock { remove({ holds($0.info) }, of: key, &$0) }
  }

  /// Removes the responses that were kept at `moment` or later; by default all of them.
  package func removeAll(since moment: Timestamp = .distantPast) {
    state.withLock { state in
      for variant in state.order where variant.info.created >= moment {
        _ = remove({ $0 === variant }, of: variant.info.key, &state)
      }
    }
  }

  private func remove(
    _ holds: (StoredVariant) -> Bool, of key: ByteString, _ state: inout State
  ) -> Int {
    let gone = (state.variants[key] ?? []).filter(holds)
    guard !gone.isEmpty else { return 0 }
    state.variants[key]?.removeAll(where: holds)
    if state.variants[key]?.isEmpty == true { state.variants[key] = nil }
    for variant in gone {
      state.bytes -= Self.bytes(of: variant)
      if let index = state.order.firstIndex(where: { $0 === variant }) {
        state.order.remove(at: index)
      }
    }
    return gone.count
  }

  private static func bytes(of variant: StoredVariant) -> Int {
    let metadata = variant.info.metadata
    let texts = (metadata.fields + metadata.userInfo).reduce(0) {
      $0 + $1.name.count + $1.value.count
    }
    return overhead + variant.info.key.count + texts + Int(clamping: variant.length)
  }
}

extension ResponseCache {
  /// The memory in bytes that stored responses and those that are in memory only take, roughly.
  package var memoryBytes: Int { hot.bytes + memory.bytes }

  /// Removes all responses from memory.
  package func emptyMemory() {
    hot.removeAll()
    memory.removeAll()
  }

  /// Removes the response in memory that one which was just stored replaces.
  ///
  /// A response that was received later stays. A time after `now` proves nothing: the clock was set
  /// back.
  package func removeFromMemory(replacedBy info: EntryInfo, now: Timestamp) {
    let received = EntryFields.responseTime(of: info)
    memory.remove(info.key) { kept in
      let time = EntryFields.responseTime(of: kept)
      return kept.variant == info.variant && (time <= received || time > now)
    }
  }

  /// Keeps a response in memory, and not in the store.
  ///
  /// - Parameter metadata: The metadata of the plan, with the user's additions.
  /// - Throws: `entryTooLarge` if it alone exceeds the limit for such responses.
  package func keepInMemory(
    _ body: [UInt8], _ plan: StoringPlan, metadata: EntryMetadata, now: Timestamp
  ) throws(StoreError) -> EntryInfo {
    let head = PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: Digest(hashing: body), variant: plan.variant,
      length: UInt64(body.count), created: now, accessed: now, expires: metadata.expires,
      bodyFile: 0, overhead: 0, status: metadata.status, isPinned: false)
    let info = EntryInfo(
      record: PutRecord(head: head, key: plan.key, metadata: metadata), accessed: now)
    guard let variant = StoredVariant(info, .bytes(body, .memory), rules), memory.insert(variant)
    else {
      throw StoreError(
        .entryTooLarge, path: "memory",
        cause: "a response of \(body.count) bytes exceeds the limit",
        remedy: "allow more memory for responses that are not stored, or store it")
    }
    return info
  }
}
