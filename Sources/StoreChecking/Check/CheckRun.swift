internal import CacheFormat
internal import CacheStore
internal import CacheSystem
internal import Synchronization

/// Set by whoever wants the check to end.
final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}

/// One check from beginning to end: place, journal, shards, staging.
final class CheckRun: Sendable {
  let path: String
  let options: CheckOptions
  let cancellation: Cancellation
  let reporter: Reporter
  let hashed = HashedFiles()
  let shared = SharedFiles()
  private let state = Mutex(State())

  private struct State {
    var context = Examination.Context(
      hasIndex: false, isJournalWhole: true, owner: 0, now: 0)
    var mender: (any Mending)?
    var hasJournal = true
  }

  var context: Examination.Context { state.withLock { $0.context } }
  /// nil where nothing is to be repaired.
  var mender: (any Mending)? { state.withLock { $0.mender } }

  init(_ checker: StoreChecker, _ observer: any CheckObserver) {
    path = checker.path
    options = checker.options
    cancellation = checker.cancellation
    reporter = Reporter(observer, skipped: checker.options.skippedShards)
  }

  func checkCancelled() throws(CheckError) {
    if cancellation.isSet { throw .cancelled(path) }
  }

  /// Whether a finding is told by another one: without any journal, every entry is unrecorded.
  func isFolded(_ finding: Finding) -> Bool {
    finding.kind == .entryUnrecorded && state.withLock { !$0.hasJournal }
  }

  /// Goes through the store.
  func perform() throws(CheckError) -> CheckReport {
    let root = try openRoot()
    let place = try checkPlace(root)
    try checkCancelled()
    guard let store = try openStore(root, place) else { return reporter.end() }
    let journal = try checkJournal(store, root, place)
    let staging = sessions(store, root)
    state.withLock { state in
      state.context = Examination.Context(
        hasIndex: store.engine != nil,
        isJournalWhole: !journal.contains { $0.kind != .journalTorn }
          && store.engine?.isJournalWhole ?? true,
        owner: place.owner, now: options.clock.now())
      state.hasJournal = !journal.contains { $0.kind == .journalMissing }
    }
    StrayNames(self, store).check(root)
    try checkShards(store)
    try end(store, root, journal: journal, staging: staging, place)
    return reporter.end()
  }

  // MARK: The place

  private func openRoot() throws(CheckError) -> Descriptor {
    do throws(SystemError) {
      let root = try options.fileSystem.open(userPath: path, [.read, .directory])
      var isStore = false
      try options.fileSystem.list(root.raw) { name, _ in
        isStore = Layout.topNames.contains(name.text)
        return !isStore
      }
      if isStore { return root }
      throw SystemError.notFound
    } catch {
      guard error == .notFound || error.isWrongKind else { throw CheckError(error, path: path) }
      throw CheckError(
        .noStore, path: path, errno: error.code, cause: "there is no store",
        remedy: "check the path")
    }
  }

  private func checkPlace(_ root: borrowing Descriptor) throws(CheckError) -> PlaceCheck.Result {
    let place: PlaceCheck.Result
    do throws(SystemError) { place = try look(root) } catch {
      throw CheckError(error, path: path)
    }
    if let detail = place.newerFormat {
      throw CheckError(
        .newerFormat, path: "\(path)/store.json", cause: detail,
        remedy: "use a newer version of OfflineCache")
    }
    guard let repair = options.repair else {
      reporter.tell(place.suspicions.map { $0.finding() })
      return place
    }
    let attempts = makeMender(nil, repair, root).mendPlace(place.suspicions, root: root)
    guard let again = try? PlaceCheck.look(root, options) else { return place }
    for (suspicion, attempt) in zip(place.suspicions, attempts) {
      let isLeft = again.suspicions.contains { $0.isSame(as: suspicion) }
      reporter.tell(suspicion.finding(outcome(attempt, isLeft: isLeft)))
    }
    return again
  }

  /// Looks at the top, and once more with the lock where something seems wrong: somebody may be making
  /// the store, or removing all its entries, just now.
  private func look(_ root: borrowing Descriptor) throws(SystemError) -> PlaceCheck.Result {
    let place = try PlaceCheck.look(root, options)
    guard !place.suspicions.isEmpty,
      let lock = try? options.fileSystem.open(Layout.lock, in: root, [.read])
    else { return place }
    try options.fileSystem.lock(lock)
    defer { options.fileSystem.unlock(lock.raw) }
    return try PlaceCheck.look(root, options)
  }

  private func makeMender(
    _ store: Store?, _ level: RepairLevel, _ root: borrowing Descriptor
  ) -> any Mending {
    NoMending()
  }

  /// Opens the engine, or what can be looked at without it; nil where nothing can.
  private func openStore(
    _ root: borrowing Descriptor, _ place: PlaceCheck.Result
  ) throws(CheckError) -> CheckedStore? {
    let isSeedLost = place.description == nil
    do throws(StoreError) {
      guard !isSeedLost else {
        throw StoreError(
          .damaged, path: path, cause: "the hash seed is lost", remedy: "repair the store")
      }
      let engine = try Store(
        at: path,
        options: Options(
          isReadOnly: options.repair == nil, createsStore: false, clock: options.clock,
          fileSystem: options.fileSystem))
      if let repair = options.repair {
        let mender = makeMender(engine, repair, root)
        state.withLock { $0.mender = mender }
      }
      return CheckedStore(engine, owner: place.owner)
    } catch  where error.code == .newerFormat {
      throw CheckError(
        .newerFormat, path: error.path, cause: error.cause, remedy: error.remedy)
    } catch {
      let cause = "the store cannot be opened (\(error.path): \(error.cause))"
      reporter.change { $0.partialCause = cause }
      guard let description = place.description,
        let tree = try? options.fileSystem.open(Layout.entries, in: root, [.read, .directory])
      else { return nil }
      return CheckedStore(tree: tree, description, owner: place.owner, options.fileSystem)
    }
  }

  // MARK: Journal and staging

  /// Reads the journal; what looks wrong is read again, at last with nobody able to write.
  private func checkJournal(
    _ store: CheckedStore, _ root: borrowing Descriptor, _ place: PlaceCheck.Result
  ) throws(CheckError) -> [Suspicion] {
    guard let description = place.description,
      let journal = try? options.fileSystem.open(Layout.journal, in: root, [.read, .directory])
    else { return [] }
    let raw = journal.raw
    let read = { [cancellation, options] (hasDeadSession: Bool) in
      JournalCheck.read(
        raw, description, options.fileSystem, hasDeadSession: hasDeadSession
      ) { cancellation.isSet }
    }
    var result = read(false)
    if !result.suspicions.isEmpty { result = read(false) }
    if !result.suspicions.isEmpty {
      let rawRoot = root.raw
      result = locked(store) { [options] in
        read(Self.hasDeadSessions(rawRoot, options.fileSystem))
      }
    }
    try checkCancelled()
    let foreign = result.foreign
    if !foreign.isEmpty {
      let strays = StrayCheck(self, store)
      var tally = StrayTally(path: Layout.journal.bytes)
      for name in foreign { strays.checkForeign(name, in: raw, &tally) }
      strays.end(tally)
    }
    if !result.suspicions.contains(where: { $0.kind == .journalMissing })
      || hasEntries(store)
    {
      if mender == nil { reporter.tell(result.suspicions.map { $0.finding() }) }
    } else {
      // An empty store that nobody has written to.
      result.suspicions.removeAll { $0.kind == .journalMissing }
      if mender == nil { reporter.tell(result.suspicions.map { $0.finding() }) }
    }
    reporter.change { $0.journalBytes = result.bytes }
    return result.suspicions
  }

  private static func hasDeadSessions(_ root: Int32, _ fileSystem: any FileSystem) -> Bool {
    guard
      let raw = try? fileSystem.openOnce(
        Layout.staging, in: root, [.read, .directory], mode: 0)
    else { return false }
    let staging = Descriptor(raw, of: fileSystem)
    return !StagingCheck.sessions(in: staging.raw, fileSystem).isEmpty
  }

  private func hasEntries(_ store: CheckedStore) -> Bool {
    var isEmpty = true
    try? options.fileSystem.list(store.entries.directory.raw) { _, _ in
      isEmpty = false
      return false
    }
    return !isEmpty
  }

  /// Runs `body` with the lock of the journal, where there is an engine to take it.
  private func locked<R: Sendable>(_ store: CheckedStore, _ body: () -> R) -> R {
    guard let engine = store.engine else { return body() }
    if let result = try? engine.whileJournalIsLocked(body) { return result }
    return body()
  }

  private func sessions(_ store: CheckedStore, _ root: borrowing Descriptor) -> [Suspicion] {
    let fileSystem = options.fileSystem
    guard
      let staging = try? fileSystem.open(Layout.staging, in: root, [.read, .directory])
    else { return [] }
    let (raw, rawRoot) = (staging.raw, root.raw)
    let found = locked(store) {
      StagingCheck.sessions(in: raw, fileSystem)
        + StagingCheck.unfinished(in: rawRoot, fileSystem)
    }
    if mender == nil { reporter.tell(found.map { $0.finding() }) }
    return found
  }

  // MARK: Shards

  private struct Work {
    var next = 0
    var running = 0
    var failure: CheckError?
  }

  private func checkShards(_ store: CheckedStore) throws(CheckError) {
    let (numbers, starts) = store.engine?.slotsByShard() ?? ([], Array(repeating: 0, count: 257))
    let statistics = store.engine?.statistics
    let bodyBytes = (statistics?.logicalBytes ?? 0) - (statistics?.sharedBytes ?? 0)
    reporter.begin(
      entries: numbers.count, bytes: options.depth == .deep ? bodyBytes : 0
    ) { report in
      report.storeID = store.engine?.id.description
      report.bodyBytes = bodyBytes
    }
    let jobs = max(1, min(options.jobs, Layout.shardCount))
    let work = Monitor(Work(running: jobs))
    let perform: @Sendable () -> Void = { [self] in
      let check = ShardCheck(self, store)
      while let number = take(work) {
        do throws(CheckError) {
          let slots = numbers[starts[number]..<starts[number + 1]]
          try check.check(number, store.engine?.keyHashes(of: slots) ?? [])
        } catch {
          work.change { $0.failure = $0.failure ?? error }
        }
      }
      work.change { $0.running -= 1 }
    }
    for _ in 1..<jobs {
      // Where the system has no thread to give, the others do its work.
      if (try? startThread(perform)) == nil { work.change { $0.running -= 1 } }
    }
    perform()
    let failure = work.wait { $0.running == 0 ? .some($0.failure) : nil }
    if let failure { throw failure }
  }

  private func take(_ work: Monitor<Work>) -> Int? {
    work.change { work in
      while work.failure == nil, work.next < Layout.shardCount {
        work.next += 1
        if !options.skippedShards.contains(UInt8(work.next - 1)) { return work.next - 1 }
      }
      return nil
    }
  }

  // MARK: The end

  private func end(
    _ store: CheckedStore, _ root: borrowing Descriptor, journal: [Suspicion],
    staging: [Suspicion], _ place: PlaceCheck.Result
  ) throws(CheckError) {
    guard let mender, let description = place.description,
      !journal.isEmpty || !staging.isEmpty
    else { return }
    let attempt = mender.finish(journal: journal, staging: staging)
    var left: [Suspicion] = []
    let fileSystem = options.fileSystem
    if let directory = try? fileSystem.open(Layout.journal, in: root, [.read, .directory]),
      let sessions = try? fileSystem.open(Layout.staging, in: root, [.read, .directory])
    {
      let (raw, rawSessions, rawRoot) = (directory.raw, sessions.raw, root.raw)
      left = locked(store) { [cancellation] in
        let dead = StagingCheck.sessions(in: rawSessions, fileSystem)
        return dead + StagingCheck.unfinished(in: rawRoot, fileSystem)
          + JournalCheck.read(raw, description, fileSystem, hasDeadSession: !dead.isEmpty) {
            cancellation.isSet
          }.suspicions
      }
    }
    for suspicion in journal + staging {
      reporter.tell(
        suspicion.finding(
          outcome(attempt, isLeft: left.contains { $0.isSame(as: suspicion) })))
    }
  }
}

/// Stands for the repair.
struct NoMending: Mending {
  func mendPlace(_ suspicions: [Suspicion], root: borrowing Descriptor) -> [MendAttempt] {
    suspicions.map { _ in .none }
  }
  func mend(
    _ suspicions: [Suspicion], of scene: KeyScene, in shard: borrowing Shard
  ) -> [MendAttempt] { suspicions.map { _ in .none } }
  func mendStray(
    _ suspicion: Suspicion, _ name: PathName, in directory: Int32
  ) -> MendAttempt { .none }
  func finish(journal: [Suspicion], staging: [Suspicion]) -> MendAttempt { .none }
}
