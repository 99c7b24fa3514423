public import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Store {
  private enum Found {
    case memory(Entry)
    case disk(Located)
    case none(MissReason)
    case uncertain(isKnown: Bool)
  }

  /// Returns the whole entry of a key. This counts as an access.
  ///
  /// Never fails: an entry that cannot be returned exactly as it was stored is a miss with a
  /// reason.
  ///
  /// - Complexity: O(1), and the time to read the body. A miss costs one ioctl(2).
  public func lookUp(_ key: ByteString, variant: UInt64 = 0) -> Lookup {
    let hash = catalog.hash(key)
    var asked = 0
    var reason = MissReason.absent
    for _ in 0..<Self.maximumAttempts {
      switch find(hash, variant, key, hasAsked: asked > 0) {
      case .memory(let entry): return hit(entry, key)
      case .disk(let located):
        do throws(ReadFailure) {
          return hit(try readEntry(located, key), key)
        } catch {
          if error == .collision { return .miss(miss(.collision, key)) }
          if catalog.isCurrent(located) { return .miss(missing(located, key, error)) }
        }
      case .none(let reason): return .miss(miss(reason, key))
      case .uncertain(let isKnown):
        // One search of the tree shows that an entry is absent. An entry in the index may change
        // meanwhile, so it is searched for again.
        reason = isKnown ? .damaged : .absent
        guard asked < (isKnown ? 2 : 1), (try? recovery.askTree(hash, variant)) != nil
        else { return .miss(miss(reason, key)) }
        asked += 1
      }
    }
    return .miss(miss(reason, key))
  }

  /// The number of times that an operation is tried if the entry is changed meanwhile.
  static var maximumAttempts: Int { 8 }

  @inline(__always)
  private func find(
    _ hash: KeyHash, _ variant: UInt64, _ key: ByteString, hasAsked: Bool
  ) -> Found {
    let settled = reader.settledTail()
    let (found, isFirstTouch) = reader.state.withLock { state -> (Found, Bool) in
      reader.follow(&state, after: settled)
      let slot: UInt32
      switch state.presence(hash, variant, hasAsked: hasAsked) {
      case .present(let number): slot = number
      case .absent: return (.none(.absent), false)
      case .closed: return (.none(.closed), false)
      case .uncertain(let isKnown): return (.uncertain(isKnown: isKnown), false)
      }
      // A coarse clock is enough, because each access gets a later time than the one before.
      let isFirstTouch = state.touch(slot, now: catalog.clock.roughly())
      let entry = state.index[slot]
      if entry.isInMemory, let (record, body) = state.memory.find(slot), record.hasKey(key) {
        let info = EntryInfo(record: record, accessed: Timestamp(nanoseconds: entry.accessed))
        return (.memory(Entry(info: info, body: body, source: .memory)), isFirstTouch)
      }
      return (.disk(state.located(entry)), isFirstTouch)
    }
    if isFirstTouch { accessTimes.announceTouches() }
    return found
  }

  /// Reads an entry from the disk, and puts it into the memory tier if it has room there.
  private func readEntry(_ located: Located, _ key: ByteString) throws(ReadFailure) -> Entry {
    let (record, logged) = try recordAndBody(located)
    guard record.hasKey(key) else { throw .collision }
    let body: [UInt8]
    if let logged { body = logged } else { body = try self.body(of: located) }
    if keepsInMemory {
      reader.state.withLock { $0.remember(located.slot, record, body) }
    }
    return Entry(info: located.info(record), body: body, source: .disk)
  }

  /// Reads the record of an entry, and the body if the record carries it. `nil` for the body means
  /// that it is in a file, or not anywhere.
  private func recordAndBody(
    _ located: Located
  ) throws(ReadFailure) -> (record: PutRecord, body: [UInt8]?) {
    guard located.slot.carriesBody, let segment = located.segment
    else { return (try catalog.readRecord(located), nil) }
    return try catalog.readWhole(located, in: segment)
  }

  /// Reads the body of an entry from its file.
  private func body(of located: Located) throws(ReadFailure) -> [UInt8] {
    if located.slot.isUnsettled { throw .damaged }
    return try catalog.tree.readBody(located)
  }

  private func hit(_ entry: Entry, _ key: ByteString) -> Lookup {
    counters.hit(entry.source)
    events.send(.hit(entry.source), key: key, bytes: UInt64(entry.body.count))
    return .hit(entry)
  }

  /// Reports a miss, and returns its reason.
  private func miss(_ reason: MissReason, _ key: ByteString) -> MissReason {
    counters.miss(reason)
    events.send(.miss(reason), key: key)
    return reason
  }

  /// Reports a miss for an entry whose files are damaged or missing, and has the upkeep set it
  /// aside.
  private func missing(
    _ located: Located, _ key: ByteString, _ failure: ReadFailure
  ) -> MissReason {
    let reason = miss(.damaged, key)
    if failure != .unreadable { upkeep.setAside(located.slot) }
    return reason
  }
}

// Queries that do not read the body, and the reader of bodies.
extension Store {
  /// Returns whether there is an entry. The body is not read, and this does not count as an access.
  ///
  /// - Complexity: O(1), and one read of the record, to compare the key.
  public func contains(_ key: ByteString, variant: UInt64 = 0) -> Bool {
    info(for: key, variant: variant) != nil
  }

  /// Returns key, times and metadata of an entry. The body is not read, and this does not count as
  /// an access.
  public func info(for key: ByteString, variant: UInt64 = 0) -> EntryInfo? {
    let hash = catalog.hash(key)
    for _ in 0..<Self.maximumAttempts {
      guard case .entry(let located) = recovery.locate(hash, variant) else { return nil }
      if let record = try? catalog.readRecord(located) {
        guard record.hasKey(key) else { return nil }
        return located.info(record)
      }
      if catalog.isCurrent(located) { return nil }
    }
    return nil
  }

  /// Returns the stored responses of a key, in no particular order.
  public func variants(of key: ByteString) -> [EntryInfo] {
    let hash = catalog.hash(key)
    try? recovery.askTree(hash)
    return catalog.slots(of: hash).compactMap { info(for: key, variant: $0.variant) }
  }

  /// Opens the body of a key for reading piece by piece. This counts as an access.
  public func read(_ key: ByteString, variant: UInt64 = 0) -> BodyLookup {
    let hash = catalog.hash(key)
    for _ in 0..<Self.maximumAttempts {
      let located: Located
      switch recovery.locate(hash, variant) {
      case .entry(let found): located = found
      case .miss(let reason): return .miss(miss(reason, key))
      }
      do throws(ReadFailure) {
        let (record, logged) = try recordAndBody(located)
        guard record.hasKey(key) else { throw .collision }
        if logged == nil, located.slot.isUnsettled { throw .damaged }
        let reader: BodyReader
        if let logged {
          reader = BodyReader(logged, digest: located.slot.digest, path: catalog.path)
        } else {
          let (upkeep, slot) = (upkeep, located.slot)
          reader = try catalog.tree.openBody(located) { upkeep.setAside(slot) }
        }
        accessTimes.touch(located)
        counters.hit(.disk)
        events.send(.hit(.disk), key: key, bytes: located.slot.length)
        return .hit(located.info(record), reader)
      } catch {
        if error == .collision { return .miss(miss(.collision, key)) }
        if catalog.isCurrent(located) { return .miss(missing(located, key, error)) }
      }
    }
    return .miss(miss(.absent, key))
  }
}
