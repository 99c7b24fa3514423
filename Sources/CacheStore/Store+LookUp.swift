public import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Why a file could not be read as it was stored.
enum ReadFailure: Error {
  /// It is not there: removed or replaced meanwhile, or lost.
  case gone
  /// It is another one than was stored.
  case damaged
  /// The system cannot read it: EIO, EACCES, too many open files. It may be whole.
  case unreadable
  /// It is of another key with the same hash.
  case collision
}

/// Where an entry is, as the index had it.
struct Located {
  var slot: Slot
  var segment: Segment?
  var entries: EntriesDirectory

  /// What `record`, with the access time of the index, says of the entry.
  func info(_ record: PutRecord) -> EntryInfo {
    EntryInfo(record: record, accessed: Timestamp(nanoseconds: slot.accessed))
  }
}

extension Store {
  private enum Found {
    case memory(Entry)
    case disk(Located)
    case absent
    /// The index does not know every entry, or not the last version of each.
    case uncertain(isKnown: Bool)
  }

  /// Finds the whole entry of a key and counts as an access.
  ///
  /// Never fails: what cannot be returned exactly as it was stored is a miss with its reason.
  ///
  /// - Complexity: O(1) and the reading of the body. One lseek(2) for a miss.
  public func lookUp(_ key: ByteString, variant: UInt64 = 0) -> Lookup {
    let hash = hash(key)
    var hasAsked = false
    for _ in 0..<Self.maximumAttempts {
      switch find(hash, variant, key) {
      case .memory(let entry):
        eventHub.send(.hit(.memory), key: key, bytes: UInt64(entry.body.count))
        return .hit(entry)
      case .disk(let located):
        do throws(ReadFailure) {
          return .hit(try readEntry(located, key))
        } catch {
          state.withLock { $0.counters.hits -= 1 }
          if error == .collision { return miss(.collision, key) }
          if isCurrent(located) { return missing(located, key, error) }
        }
      case .absent:
        eventHub.send(.miss(.absent), key: key)
        return .miss(.absent)
      case .uncertain(let isKnown):
        // Once is enough to see that it is absent; what is known may change meanwhile.
        guard isKnown || !hasAsked, (try? askTree(hash, variant)) != nil
        else { return miss(isKnown ? .damaged : .absent, key) }
        hasAsked = true
      }
    }
    return miss(.absent, key)
  }

  /// How often a look-up begins again because the entry was changed meanwhile.
  static var maximumAttempts: Int { 8 }

  @inline(__always)
  private func find(_ hash: KeyHash, _ variant: UInt64, _ key: ByteString) -> Found {
    let settled = settledTail()
    let (found, isFirstTouch) = state.withLock { state -> (Found, Bool) in
      follow(&state, after: settled)
      guard let slot = state.index.find(hash, variant), !state.isClosed else {
        guard state.isComplete || state.isClosed else {
          return (.uncertain(isKnown: false), false)
        }
        state.counters.misses += 1
        return (.absent, false)
      }
      if state.isDoubtful(state.index[slot]) { return (.uncertain(isKnown: true), false) }
      // Taken back where what the index says cannot be read.
      state.counters.hits += 1
      let touches = state.touched.count
      // Roughly will do: each access is later than the one before in any case.
      state.touch(slot, now: clock.roughly())
      let isFirstTouch = touches == 0 && state.touched.count == 1
      let entry = state.index[slot]
      if entry.isInMemory, let (record, body) = state.memory.find(slot), record.hasKey(key) {
        state.counters.memoryHits += 1
        let info = EntryInfo(record: record, accessed: Timestamp(nanoseconds: entry.accessed))
        return (.memory(Entry(info: info, body: body, source: .memory)), isFirstTouch)
      }
      return (.disk(state.located(entry)), isFirstTouch)
    }
    if isFirstTouch { announceTouches() }
    return found
  }

  /// Reads an entry from the disk, and puts it into the memory tier where it fits.
  private func readEntry(_ located: Located, _ key: ByteString) throws(ReadFailure) -> Entry {
    let record = try readRecord(located)
    guard record.hasKey(key) else { throw .collision }
    let body = try readBody(located)
    if keepsInMemory {
      state.withLock { state in
        guard state.memory.admits(body.count + record.bytes.count) else { return }
        remember(&state, located.slot, record, body)
      }
    }
    eventHub.send(.hit(.disk), key: key, bytes: UInt64(body.count))
    return Entry(info: located.info(record), body: body, source: .disk)
  }

  /// Puts an entry into the memory tier, if it is still the one that was read.
  func remember(_ state: inout StoreState, _ slot: Slot, _ record: PutRecord, _ body: [UInt8]) {
    guard let number = state.index.find(slot.keyHash, slot.variant),
      state.index[number].isSameRecord(as: slot)
    else { return }
    for gone in state.memory.insert(number, record, body) { state.index.setInMemory(gone, false) }
    state.index.setInMemory(number, true)
  }

  /// Reads the record of an entry: from the journal, or from the metadata file where the journal has
  /// none.
  func readRecord(_ located: Located) throws(ReadFailure) -> PutRecord {
    guard let segment = located.segment else { return try recordFromTree(located) }
    let count = Int(located.slot.recordLength)
    let offset = Int64(located.slot.offset)
    guard let bytes = try? fileSystem.readBytes(segment.file, count: count, at: offset),
      bytes.count == count
    else { throw .unreadable }
    // Safety: the array outlives the call.
    let reading = unsafe bytes.withUnsafeBytes {
      unsafe RecordFrame.read($0, at: 0, seed: segment.seed(hashSeed, offset))
    }
    guard case .record = reading, let record = PutRecord(checked: bytes) else { throw .damaged }
    let head = record.head
    guard head.keyHash == located.slot.keyHash, head.variant == located.slot.variant
    else { throw .damaged }
    return record
  }

  /// The longest body that is read without asking for its size first: memory for it is taken only on
  /// the word of a record that carries a checksum.
  private static var unaskedBytes: UInt64 { 64 << 10 }

  /// Reads and verifies a body.
  private func readBody(_ located: Located) throws(ReadFailure) -> [UInt8] {
    let slot = located.slot
    do throws(SystemError) {
      let path = Layout.bodyPath(slot.keyHash, slot.digest)
      if slot.length > Self.unaskedBytes {
        let file = try fileSystem.open(path, in: located.entries.directory, [.read])
        let status = try fileSystem.status(of: file.raw)
        guard status.kind == .file, status.length == slot.length else { throw .wrongLength }
      }
      let bytes = try fileSystem.readFile(
        path, in: located.entries.directory, expecting: Int(slot.length))
      if bytes.count == Int(slot.length), slot.digest.names(bytes, hashSeed: hashSeed) {
        return bytes
      }
    } catch {
      if error == .notFound { throw .gone }
      if error.isPermission || error.isOutOfDescriptors || error == .inputOutput {
        throw .unreadable
      }
      throw .damaged
    }
    throw .damaged
  }

  /// Whether the index still says the same of an entry.
  func isCurrent(_ located: Located) -> Bool {
    state.withLock { state in
      follow(&state)
      guard let slot = state.index.find(located.slot.keyHash, located.slot.variant)
      else { return false }
      return state.index[slot].isSameRecord(as: located.slot)
        && state.entries === located.entries
    }
  }

  private func miss(_ reason: MissReason, _ key: ByteString) -> Lookup {
    state.withLock { state in
      state.counters.misses += 1
      if reason == .damaged { state.counters.damagedMisses += 1 }
    }
    eventHub.send(.miss(reason), key: key)
    return .miss(reason)
  }

  /// An entry of the index that the tree does not have as it should.
  func missing(_ located: Located, _ key: ByteString, _ failure: ReadFailure) -> Lookup {
    let miss = miss(.damaged, key)
    if failure != .unreadable && !isReadOnly {
      upkeep.setAside(located.slot, of: self)
    }
    return miss
  }
}

// Asking without reading the body.
extension Store {
  /// Tells whether there is an entry; the body is not read, and it counts as no access.
  ///
  /// - Complexity: O(1), and one read of its record: the key is compared.
  public func contains(_ key: ByteString, variant: UInt64 = 0) -> Bool {
    info(for: key, variant: variant) != nil
  }

  /// Gives all that is known of an entry; the body is not read, and it counts as no access.
  public func info(for key: ByteString, variant: UInt64 = 0) -> EntryInfo? {
    let hash = hash(key)
    for _ in 0..<Self.maximumAttempts {
      guard let located = locateCertain(hash, variant) else { return nil }
      if let record = try? readRecord(located) {
        guard record.hasKey(key) else { return nil }
        return located.info(record)
      }
      if isCurrent(located) { return nil }
    }
    return nil
  }

  /// Gives the stored responses of a key, in no particular order.
  public func variants(of key: ByteString) -> [EntryInfo] {
    let hash = hash(key)
    try? askTree(hash)
    let numbers = state.withLock { state in
      follow(&state)
      return state.index.variants(of: hash).map { state.index[$0].variant }
    }
    return numbers.compactMap { info(for: key, variant: $0) }
  }

  /// Where an entry is, without an access.
  func locate(_ hash: KeyHash, _ variant: UInt64) -> Located? {
    state.withLock { state in
      follow(&state)
      guard let slot = state.index.find(hash, variant), !state.isClosed else { return nil }
      return state.located(state.index[slot])
    }
  }

  /// Where an entry is, without an access, after the tree was asked where that is in doubt; nil where
  /// it cannot be asked.
  private func locateCertain(_ hash: KeyHash, _ variant: UInt64) -> Located? {
    let (located, isUncertain) = state.withLock { state -> (Located?, Bool) in
      follow(&state)
      if state.isClosed { return (nil, false) }
      let slot = state.index.find(hash, variant).map { state.index[$0] }
      let isUncertain = !state.isComplete && (slot.map { state.isDoubtful($0) } ?? true)
      return (slot.map { state.located($0) }, isUncertain)
    }
    if !isUncertain { return located }
    return (try? askTree(hash, variant)) == nil ? nil : locate(hash, variant)
  }

  /// Opens the body of a key for reading piece by piece, and counts as an access.
  public func read(_ key: ByteString, variant: UInt64 = 0) -> BodyLookup {
    let hash = hash(key)
    for _ in 0..<Self.maximumAttempts {
      let now = clock.now()
      guard let located = locateCertain(hash, variant) else {
        _ = miss(.absent, key)
        return .miss(.absent)
      }
      do throws(ReadFailure) {
        let record = try readRecord(located)
        guard record.hasKey(key) else { throw .collision }
        let reader = try openReader(located)
        let isFirstTouch = state.withLock { state -> Bool in
          state.counters.hits += 1
          guard let slot = state.index.find(hash, variant) else { return false }
          state.touch(slot, now: now)
          return state.touched.count == 1
        }
        if isFirstTouch { announceTouches() }
        eventHub.send(.hit(.disk), key: key, bytes: located.slot.length)
        return .hit(located.info(record), reader)
      } catch {
        if error == .collision {
          _ = miss(.collision, key)
          return .miss(.collision)
        }
        if isCurrent(located) {
          _ = missing(located, key, error)
          return .miss(.damaged)
        }
      }
    }
    return .miss(.absent)
  }

  private func openReader(_ located: Located) throws(ReadFailure) -> BodyReader {
    let slot = located.slot
    do throws(SystemError) {
      let file = try fileSystem.open(
        Layout.bodyPath(slot.keyHash, slot.digest), in: located.entries.directory, [.read])
      let status = try fileSystem.status(of: file.raw)
      guard status.kind == .file, status.length == slot.length else { throw .wrongLength }
      return BodyReader(
        file: file, fileSystem: fileSystem, length: slot.length, digest: slot.digest,
        hashSeed: hashSeed,
        path: "\(path)/entries/\(Layout.bodyPath(slot.keyHash, slot.digest).text)",
        identity: VerifiedBodies.Identity(status), verified: verifiedBodies)
    } catch {
      if error == .notFound { throw .gone }
      throw error == .wrongLength || error.isWrongKind ? .damaged : .unreadable
    }
  }
}
