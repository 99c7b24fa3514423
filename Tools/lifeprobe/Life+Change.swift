import CacheFormat
import CacheStore
import SimulatedFiles
import TestSupport

// Steps that change entries.
extension Life {
  /// A change, with what the oracle says before and after it.
  struct Plan {
    var key: ByteString
    /// The entry after the change; nil: it is removed.
    var entry: Expected?
    /// Whether the body is stored, which counts as an access.
    var stores = false
    /// The answer of a server for which the entry is stored.
    var visit: Visit?
    /// What a 404 keeps as history before it is stored, and its name.
    var kept: (name: ByteString, entry: Expected)?
  }

  func change(_ step: Step) {
    let plan = plan(step)
    do throws(StoreError) {
      try carryOut(plan)
      apply(plan)
    } catch {
      refused(plan, error)
    }
    if step == .storeEqual || step == .visit || leavesFile(plan) { writeFiles() }
  }

  /// Returns whether a change has moved an entry from a body file that it shares to the journal.
  /// Equal bodies in the journal count twice until they have a file; so with a byte limit such an
  /// entry gets no record with the body, and without one nothing is evicted for it.
  private func leavesFile(_ plan: Plan) -> Bool {
    guard oracle.limits.bytes == nil, !plan.stores, let entry = plan.entry else { return false }
    return oracle.entries.contains { $0.key != plan.key && $0.value.body == entry.body }
  }

  func plan(_ step: Step) -> Plan {
    let key = anyKey()
    switch step {
    case .visit: return visit()
    case .remove: return Plan(key: key)
    case .validate, .note, .pin, .unpin:
      guard var entry = oracle.entries[key] else { return Plan(key: key) }
      switch step {
      case .pin: entry.isPinned = true
      case .unpin: entry.isPinned = false
      case .note: entry.metadata.userInfo = [Field("note", text(random.below(300)))]
      default: entry.metadata.fields = fields()
      }
      return Plan(key: key, entry: sized(entry, key))
    default:
      var entry = Expected(
        body: BodySeed(seed: random.next(), count: length(step)),
        metadata: EntryMetadata(status: 200, fields: fields()))
      if step == .storeEqual, let other = oracle.entries[anyKey()] {
        entry.body = other.body
        writeFiles()
      }
      entry.isPinned = oracle.entries[key]?.isPinned ?? false
      return Plan(key: key, entry: sized(entry, key), stores: true)
    }
  }

  private func length(_ step: Step) -> Int {
    step == .storeLarge
      ? use.bodyBytes * 2 + random.below(use.bodyBytes * 2) : random.below(use.bodyBytes) + 9
  }

  private func text(_ count: Int) -> ByteString {
    ByteString(String(repeating: "n", count: count))
  }

  private func fields() -> [Field] {
    [
      Field("etag", ByteString("\"\(random.next() % 1000)\"")), Field("date", text(29)),
      Field("x-length", text(random.below(100))),
    ]
  }

  /// Sets the bytes that the record and the metadata file have.
  func sized(_ entry: Expected, _ key: ByteString) -> Expected {
    var entry = entry
    let (digest, time) = (Digest(high: 0, low: 0), Timestamp(nanoseconds: 0))
    let stored = StoredEntry(
      key: key, digest: digest, length: UInt64(entry.body.count), created: time, accessed: time,
      isPinned: entry.isPinned, metadata: entry.metadata)
    entry.isEmbedded = oracle.embeds && entry.body.count <= 1024
    let body = entry.isEmbedded ? bodies.bytes(entry.body) : nil
    let document = try? MetadataDocument(hashSeed: 0, entry: stored, sequence: 0, body: body)
      .encoded()
    entry.overhead = (UInt64(document?.count ?? 0) + 4095) / 4096 * 4096 + 4096
    let head = PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: digest, variant: 0,
      length: UInt64(entry.body.count), created: time, accessed: time, expires: nil, bodyFile: 0,
      overhead: 0, status: entry.metadata.status, isPinned: entry.isPinned)
    let record = PutRecord(head: head, key: key, metadata: entry.metadata)
    entry.record = Int64(record.bytes.count + RecordFrame.padded(body?.count ?? 0))
    return entry
  }

  func carryOut(_ plan: Plan) throws(StoreError) {
    guard let entry = plan.entry else {
      try store.remove(plan.key)
      return
    }
    if let visit = plan.visit { return try carryOut(visit, of: plan.key, bodies.bytes(entry.body)) }
    if plan.stores {
      let bytes = bodies.bytes(entry.body)
      if bytes.count < 30_000 {
        try store.put(bytes, for: plan.key, metadata: entry.metadata)
        return
      }
      let writer = try store.makeWriter(for: plan.key, metadata: entry.metadata)
      try writer.write(bytes)
      try writer.commit()
    } else if oracle.entries[plan.key]?.isPinned != entry.isPinned {
      _ = try entry.isPinned ? store.pin(plan.key) : store.unpin(plan.key)
    } else {
      try store.update(plan.key) { $0 = entry.metadata }
    }
  }

  private func apply(_ plan: Plan) {
    evictionCount += keep(plan, in: &oracle)
    let old = oracle.entries[plan.key]
    oracle.entries[plan.key] = plan.entry
    if plan.entry == nil { oracle.entries[history(of: plan.key)] = nil }
    if plan.stores {
      oracle.touch(plan.key)
      guard let gone = oracle.makeRoom(for: plan.key) else {
        return complain("\(plan.key) is stored, and there was no room")
      }
      evictionCount += gone.count
    } else if plan.entry != nil {
      oracle.entries[plan.key]?.accessed = old?.accessed ?? 0
      oracle.keepLimits()
    }
  }

  /// A change that the store refused: was it right to?
  private func refused(_ plan: Plan, _ error: StoreError) {
    let old = oracle.entries[plan.key]
    var after = oracle
    after.entries[plan.key] = plan.entry
    after.touch(plan.key)
    let pinned = after.entries.values.reduce(0) { $0 + ($1.isPinned ? $1.body.count : 0) }
    let quota = oracle.limits.bytes.map { $0 / 2 } ?? .max
    switch error.code {
    case .pinQuotaExceeded where UInt64(pinned) > quota:
      // Nothing is evicted for it. The attempt counts as an access.
      if plan.stores { oracle.touch(plan.key) }
    case .noSpace where after.makeRoom(for: plan.key) == nil:
      oracle = after
      oracle.entries[plan.key] = old
      oracle.touch(plan.key)
    case .entryTooLarge where UInt64(plan.entry?.body.count ?? 0) > oracle.limits.bytes ?? .max:
      return
    default: complain("\(plan.key) cannot be changed: \(error)")
    }
  }

  // MARK: Crashes

  /// Ends the active program in the middle of a change, and starts it again.
  func crash() {
    let isBrowsing = use.steps.contains { $0.0 == .visit }
    let step: Step =
      isBrowsing ? .visit : [.store, .replace, .validate, .remove, .storeEqual][random.below(5)]
    let plan = plan(step)
    let effects: [SimulatedFault.Effect] = [.endBefore, .endAfter, .endWithin]
    programs[active].process.setFault(
      SimulatedFault(effects[random.below(3)], at: 1 + random.below(14)) { $0.isChange })
    _ = try? carryOut(plan)
    programs[active].process.end()
    store.close()
    programs[active] = open()
    settle()
    takeStock(after: plan)
  }

  /// After a crash: each entry is as before or as after the change, and nothing else is missing than
  /// what the change may have evicted. The oracle goes on with what there is.
  private func takeStock(after plan: Plan) {
    var done = oracle
    _ = keep(plan, in: &done)
    done.entries[plan.key] = plan.entry
    if plan.stores { done.touch(plan.key) }
    // Where what is pinned leaves no room, all else may have gone before the store gave up.
    // A longer note or field may need room, too.
    if plan.stores { _ = done.makeRoom(for: plan.key) } else { done.keepLimits() }
    let mayBeGone = Set(oracle.entries.keys).subtracting(done.entries.keys)
    var present: [(key: ByteString, entry: Expected, accessed: Timestamp)] = []
    for info in store.entries() {
      let name = name(of: info)
      let before = oracle.entries[name]
      let after = name == plan.key ? plan.entry : name == plan.kept?.name ? plan.kept?.entry : nil
      let found = [before, after].compactMap { $0 }.first { expected in
        expected.metadata == info.metadata && expected.isPinned == info.isPinned
          && UInt64(expected.body.count) == info.length
          && Digest(hashing: bodies.bytes(expected.body)) == info.digest
      }
      guard let found else {
        complain("\(name) is neither as before the crash nor as after")
        continue
      }
      present.append((name, found, info.accessed))
    }
    let keys = Set(present.map(\.key))
    for key in oracle.entries.keys where !keys.contains(key) {
      let isAllowed = mayBeGone.contains(key) || key == plan.key && plan.entry == nil
      if !isAllowed { complain("\(key) was lost in a crash") }
    }
    // Accesses of the last second may be lost: the order is what the store says.
    oracle.entries = [:]
    for (key, entry, _) in present.sorted(by: { $0.accessed < $1.accessed }) {
      oracle.entries[key] = entry
      oracle.touch(key)
    }
  }
}
