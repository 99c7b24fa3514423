internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A check of shards, one after the other; for one thread.
final class ShardCheck {
  private let run: CheckRun
  private let store: CheckedStore
  private let reader: SceneReader
  private let bodies: BodyHasher
  private let strays: StrayCheck
  /// The number of keys that are read from the index at once. It is 1 if bodies are read, because
  /// index entries would be outdated afterwards.
  private let batch: Int
  private var toldFiles = 0
  private var toldBytes: UInt64 = 0

  private var fileSystem: any FileSystem { store.fileSystem }

  init(_ run: CheckRun, _ store: CheckedStore) {
    self.run = run
    self.store = store
    bodies = BodyHasher(store.fileSystem, hashSeed: store.hashSeed, run.hashed) {
      [cancellation = run.cancellation] in cancellation.isSet
    }
    reader = SceneReader(store, bodies, run.shared, isDeep: run.options.depth == .deep)
    strays = StrayCheck(run: run, store: store)
    batch = run.options.depth == .deep ? 1 : 64
  }

  /// Checks all keys of a shard.
  ///
  /// - Parameter known: the keys of the shard in the index.
  func check(_ number: Int, _ known: [KeyHash]) throws(CheckError) {
    for _ in 0..<CheckLimits.attempts {
      let entries = store.entries
      var missing = Set(known)
      guard try checkNames(of: number, entries, &missing) else { break }
      // The directories of these keys were not in the list.
      for hash in missing {
        let entries = store.entries
        let shard = try? OpenFile(
          fileSystem.open(Layout.shard(number), in: entries.directory, [.read, .directory]))
        try check([hash], in: number, shard?.descriptor.raw, entries)
        withExtendedLifetime(shard) {}
      }
      if !store.isOutdated(entries) { break }
    }
    // A body may not have been read to its end.
    try run.checkCancelled()
    run.reporter.add(shard: number)
  }

  /// Checks all keys that have a directory in the shard, and removes them from `missing`.
  ///
  /// - Returns: false if the system cannot read the shard, which has been reported.
  private func checkNames(
    of number: Int, _ entries: EntriesDirectory, _ missing: inout Set<KeyHash>
  ) throws(CheckError) -> Bool {
    let shard: Descriptor
    do throws(SystemError) {
      shard = try fileSystem.open(
        Layout.shard(number), in: entries.directory, [.read, .directory])
    } catch {
      if error == .notFound || error.isWrongKind { return true }
      if error.isOutOfDescriptors { throw CheckError(error, path: run.path) }
      let status = try? fileSystem.status(at: Layout.shard(number), in: entries.directory.raw)
      run.tell(unreadable: path(of: number), error, status)
      return false
    }
    try checkNames(in: shard, number, entries, &missing)
    return true
  }

  private func checkNames(
    in shard: borrowing Descriptor, _ number: Int, _ entries: EntriesDirectory,
    _ missing: inout Set<KeyHash>
  ) throws(CheckError) {
    var failure: CheckError?
    var tally = StrayTally(path: path(of: number))
    var count = 0
    var hashes: [KeyHash] = []
    let raw = shard.raw
    do throws(SystemError) {
      try fileSystem.list(fresh: raw) { name, _ in
        count += 1
        do throws(CheckError) {
          if let hash = Layout.keyHash(name, inShard: number) {
            missing.remove(hash)
            hashes.append(hash)
            if hashes.count == batch {
              defer { hashes.removeAll(keepingCapacity: true) }
              try check(hashes, in: number, raw, entries)
            }
          } else {
            strays.checkForeign(name, in: raw, &tally)
          }
        } catch { failure = error }
        return failure == nil && count < CheckLimits.names
      }
    } catch {
      if !store.isOutdated(entries) { run.tell(unreadable: path(of: number), error) }
    }
    if let failure { throw failure }
    try check(hashes, in: number, raw, entries)
    strays.end(tally)
  }

  private func path(of shard: Int) -> [UInt8] {
    Array("entries/".utf8) + Layout.shard(shard).bytes
  }

  /// Checks some keys.
  ///
  /// - Parameter shard: the directory of the shard, which the caller keeps open.
  private func check(
    _ hashes: [KeyHash], in number: Int, _ shard: Int32?, _ entries: EntriesDirectory
  ) throws(CheckError) {
    for (hash, indexed) in zip(hashes, try indexed(hashes)) {
      try check(hash, indexed, in: number, shard, entries)
    }
  }

  private func indexed(_ hashes: [KeyHash]) throws(CheckError) -> [IndexedKey] {
    do throws(SystemError) { return try store.indexed(hashes) } catch {
      throw CheckError(error, path: run.path)
    }
  }

  private func check(
    _ hash: KeyHash, _ indexed: IndexedKey, in number: Int, _ shard: Int32?,
    _ entries: EntriesDirectory
  ) throws(CheckError) {
    try run.checkCancelled()
    let scene = reader.read(hash, indexed, in: shard)
    if let failure = reader.failure { throw CheckError(failure, path: run.path) }
    if let shard, scene.uncountedNames > 0 || scene.strays.contains(where: { $1 == .directory }) {
      strays.checkDirectories(of: scene, in: shard)
    }
    let suspicions = examine(scene)
    if !suspicions.isEmpty, !store.isOutdated(entries) { try confirm(hash, number) }
    note(scene)
  }

  /// Examines a key again with the shard locked, repairs it, and reports the findings.
  private func confirm(_ hash: KeyHash, _ number: Int) throws(CheckError) {
    for _ in 0..<CheckLimits.attempts {
      // Another process may just be removing all entries. `confirmEntries` waits for its record.
      _ = try? store.catalog?.confirmEntries()
      let entries = store.entries
      var findings: [Finding] = []
      let absent = reader.read(hash, try indexed([hash])[0], in: nil)
      do throws(SystemError) {
        let makes = run.options.repair == .all
        findings = try store.withShard(number, hash, entries, makes: makes) { look(hash, in: $0) }
      } catch  where error == .notFound || error.isWrongKind {
        // A shard is made before the record of its first entry, and is never removed. So the
        // entries in the index lack their directory.
        findings = forecast(examine(absent), of: absent, hasShard: false)
      } catch {
        throw CheckError(error, path: "\(run.path)/entries/\(Layout.shard(number).text)")
      }
      if let failure = reader.failure { throw CheckError(failure, path: run.path) }
      if store.isOutdated(entries) { continue }
      for finding in findings { run.tell(finding) }
      return
    }
  }

  private func look(_ hash: KeyHash, in shard: borrowing Shard) -> [Finding] {
    guard let scene = reader.read(hash, inLocked: shard.directory.raw) else { return [] }
    let suspicions = examine(scene)
    guard !suspicions.isEmpty, !store.isOutdated(shard.entries) else {
      return suspicions.map { $0.finding() }
    }
    if let mender = run.mender { return mend(suspicions, scene, mender, in: shard) }
    return forecast(suspicions, of: scene)
  }

  /// Returns findings that are not repaired, with what a repair would lose or restore if that is asked for.
  private func forecast(
    _ suspicions: [Suspicion], of scene: KeyScene, hasShard: Bool = true
  ) -> [Finding] {
    // What is reported for its mode alone, a repair would read.
    if scene.hasUnreadable, suspicions.contains(where: { $0.kind == .unreadable }) {
      run.pass.hasFailed.set()
    }
    let forecast = store.engine.map { RepairForecast(store: $0) }
    let level = run.options.forecast
    var lost = level == .all ? forecast?.losses(suspicions, of: scene) ?? [] : []
    return suspicions.map { suspicion in
      let taken = Self.take(suspicion, from: &lost)
      var finding = suspicion.finding(lostEntries: taken.count)
      if level == .all {
        finding.lostEntries += forecast?.unrecordedLosses(suspicion, of: scene) ?? 0
      }
      // A safe repair makes no shard.
      if level == .safe, hasShard {
        finding.isException = forecast?.isRestorable(suspicion, of: scene) == true
      }
      return finding
    }
  }

  /// Repairs a key, examines it again, and repeats this as long as it shows new suspicions.
  private func mend(
    _ suspicions: [Suspicion], _ before: KeyScene, _ mender: Mender, in shard: borrowing Shard
  ) -> [Finding] {
    var (left, scene) = (suspicions, before)
    var all: [(suspicion: Suspicion, attempt: MendAttempt)] = []
    for _ in 0..<CheckLimits.rounds {
      let known = left
      for (suspicion, attempt) in zip(left, mender.mend(left, of: scene, in: shard)) {
        if let place = all.firstIndex(where: { $0.suspicion.isSame(as: suspicion) }) {
          all[place].attempt = attempt
        } else {
          all.append((suspicion, attempt))
        }
      }
      guard let now = reader.read(scene.hash, inLocked: shard.directory.raw) else { return [] }
      scene = now
      left = examine(scene)
      if left.allSatisfy({ one in known.contains { $0.isSame(as: one) } }) { break }
    }
    if scene.hasUnreadable { run.pass.hasFailed.set() }
    if scene.uncountedNames > 0 { run.pass.hasUnplaced.set() }
    for suspicion in left where !all.contains(where: { $0.suspicion.isSame(as: suspicion) }) {
      all.append((suspicion, .none))
    }
    var lost = before.slots.filter { slot in
      !scene.slots.contains { $0.variant == slot.variant }
    }
    return all.map { suspicion, attempt in
      let outcome = outcome(attempt, isLeft: suspicion.isLeft(in: left))
      guard outcome == .repaired else { return suspicion.finding(outcome) }
      return suspicion.finding(outcome, lostEntries: Self.take(suspicion, from: &lost).count)
    }
  }

  /// Removes the lost entries that a suspicion is about from a list, and returns them: variants may have one
  /// body, which has one finding.
  private static func take(_ suspicion: Suspicion, from lost: inout [Slot]) -> [Slot] {
    guard suspicion.mayLose else { return [] }
    defer { lost.removeAll { suspicion.isAbout($0) } }
    return lost.filter { suspicion.isAbout($0) }
  }

  private func examine(_ scene: KeyScene) -> [Suspicion] {
    Examination.examine(scene, run.context)
  }

  private func note(_ scene: KeyScene) {
    run.reporter.add(
      entries: scene.slots.count, files: reader.files - toldFiles,
      bytes: bodies.readBytes - toldBytes)
    (toldFiles, toldBytes) = (reader.files, bodies.readBytes)
  }
}

/// Returns the outcome of a repair. It is `repaired` only if the suspicion is gone.
func outcome(_ attempt: MendAttempt, isLeft: Bool) -> Finding.Outcome {
  if !isLeft { return .repaired }
  if case .failed(let reason) = attempt { return .failed(reason) }
  return attempt == .done ? .failed("it is still so after the repair") : .left
}

extension CheckedStore {
  /// Runs `body` while a shard is locked. A missing shard is made if `makes` is true and the engine
  /// is open.
  func withShard(
    _ number: Int, _ hash: KeyHash, _ entries: EntriesDirectory, makes: Bool,
    _ body: (borrowing Shard) -> [Finding]
  ) throws(SystemError) -> [Finding] {
    guard makes, let catalog else { return try fileSystem.withShard(number, in: entries, body) }
    do throws(StoreError) {
      return try catalog.withShard(of: hash) { shard throws(StoreError) in body(shard) }
    } catch {
      throw SystemError(error)
    }
  }
}

extension SystemError {
  init(_ error: StoreError) {
    self = error.errno == 0 ? .inputOutput : SystemError(error.errno)
  }
}
