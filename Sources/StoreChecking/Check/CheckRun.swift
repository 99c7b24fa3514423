internal import CacheFormat
internal import CacheStore
internal import CacheSystem
internal import Synchronization

/// One check from beginning to end: place, journal, shards, staging.
final class CheckRun: Sendable {
  let path: String
  let options: CheckOptions
  let cancellation: Flag
  let reporter: Reporter
  let hashed: HashedFiles
  let shared = SharedFiles()
  let pass: CheckPass
  private let state = Mutex(State())

  private struct State {
    var context = Examination.Context(
      hasIndex: false, isJournalWhole: true, hasDeadSession: false, owner: 0, now: 0)
    var mender: Mender?
    var hasJournal = true
    /// The findings that are told at the end.
    var held: [Finding] = []
    var lostAndFound: Finding?
  }

  var context: Examination.Context { state.withLock { $0.context } }
  /// The mender; `nil` for a check without repair.
  var mender: Mender? { state.withLock { $0.mender } }

  /// - Parameter hashed: the digests of bodies that earlier passes have read.
  init(
    _ checker: StoreChecker, _ options: CheckOptions, _ pass: CheckPass,
    _ observer: any CheckObserver, _ hashed: HashedFiles
  ) {
    path = checker.path
    self.options = options
    self.pass = pass
    self.hashed = hashed
    cancellation = checker.cancellation
    reporter = Reporter(observer, skipped: options.skippedShards)
  }

  func checkCancelled() throws(CheckError) {
    if cancellation.isSet { throw .cancelled(path) }
  }

  /// Reports a finding about a key, unless it is left to the next pass, or another finding implies it:
  /// without a journal, every entry is unrecorded. What a repair would lose is known at the end.
  func tell(_ finding: Finding) {
    if finding.kind == .entryUnrecorded && state.withLock({ !$0.hasJournal }) { return }
    if mender != nil, finding.outcome == .left, pass.spares(finding.kind) {
      return pass.hasSpared.set()
    }
    if mender == nil, finding.lostEntries > 0 {
      return state.withLock { $0.held.append(finding) }
    }
    reporter.tell(finding)
  }

  /// Reports a directory that cannot be listed. It may have entries, unless it was removed meanwhile.
  ///
  /// - Parameter status: its status; `nil` if its mode is not the reason.
  func tell(unreadable path: [UInt8], _ error: SystemError, _ status: FileStatus? = nil) {
    if error == .notFound { return }
    // Its mode is reported. A repair has tried to set it.
    if mender == nil, let status, Permissions(owner: context.owner).explain(error, status) {
      return
    }
    pass.hasFailed.set()
    reporter.tell(Finding(.unreadable, path: path, detail: error.description))
  }

  /// Notes that `lost+found` may have entries. It is no part of the store, so that is reported only if
  /// entries are missing.
  func note(unknownInLostAndFound detail: String, _ path: [UInt8]) {
    pass.hasUnplaced.set()
    state.withLock { $0.lostAndFound = Finding(.unreadable, path: path, detail: detail) }
  }

  private func tellHeld() {
    let (held, lostAndFound) = state.withLock { ($0.held, $0.lostAndFound) }
    for var finding in held {
      if !pass.foundAll { finding.lostEntries = 0 }
      reporter.tell(finding)
    }
    if let lostAndFound, reporter.hasMissing { reporter.tell(lostAndFound) }
  }

  func perform() throws(CheckError) -> CheckReport {
    let root = try openRoot()
    // A repair of the directory writes.
    try checkCancelled()
    let place = try checkPlace(root)
    try checkCancelled()
    permitSegments(root, place)
    // These are checked before the engine is opened, which may begin a journal and make a session.
    let journal = checkJournal(root, place)
    let staging = leftovers(root)
    try checkCancelled()
    let store = try openStore(root, place)
    defer { store?.engine?.close() }
    state.withLock { state in
      state.context = Examination.Context(
        hasIndex: store?.engine != nil,
        // The repair asks the engine, so the examination does, too.
        isJournalWhole: store?.catalog?.isJournalKnown
          ?? !journal.suspicions.contains { $0.kind != .journalTorn },
        hasDeadSession: staging.suspicions.contains {
          $0.kind == .stagingLeft && $0.path.starts(with: Layout.staging.bytes)
        },
        owner: place.owner, now: options.clock.now())
      state.hasJournal = !journal.suspicions.contains { $0.kind == .journalMissing }
    }
    if mender == nil {
      reporter.tell((journal.suspicions + staging.suspicions).map { $0.finding() })
    }
    guard let store else { return reporter.end() }
    StrayNames(self, store).check(root, journal: journal, staging: staging.foreign)
    try checkCancelled()
    try checkEntries(store)
    end(root, journal.suspicions, staging.suspicions, place, store)
    try checkCancelled()
    return reporter.end()
  }

  private func checkEntries(_ store: CheckedStore) throws(CheckError) {
    defer { tellHeld() }
    try checkShards(store)
    checkLog(store)
    try checkCancelled()
  }

  // MARK: The place

  private func openRoot() throws(CheckError) -> Descriptor {
    let content: StorePlace.Content
    do throws(SystemError) {
      let root = try options.fileSystem.open(userPath: path, [.read, .directory])
      content = try StorePlace.content(of: root, options.fileSystem, options.clock)
      if case .store = content { return root }
    } catch  where error == .notFound {
      throw noStore("there is nothing", error)
    } catch  where error.isWrongKind {
      throw noStore("it is no folder", error)
    } catch {
      throw CheckError(error, path: path)
    }
    let isEmpty = if case .nothing = content { true } else { false }
    throw noStore(isEmpty ? "the folder is empty" : "the folder is no store", nil)
  }

  private func noStore(_ cause: String, _ error: SystemError?) -> CheckError {
    CheckError(
      .noStore, path: path, errno: error?.code ?? 0, cause: cause,
      remedy: "name the folder of a store, which holds store.json")
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
    // What root makes, the owner of the store could not open.
    if !place.isOwn {
      let cause = "it belongs to user \(place.owner)"
      throw CheckError(.permissionDenied, path: path, cause: cause, remedy: "run as that user")
    }
    let attempts = PlaceMender(options, repair).mend(place.suspicions, root: root)
    guard let again = try? PlaceCheck.look(root, options) else { return place }
    for (suspicion, attempt) in zip(place.suspicions, attempts) {
      let isLeft = suspicion.isLeft(in: again.suspicions)
      reporter.tell(suspicion.finding(outcome(attempt, isLeft: isLeft)))
    }
    return again
  }

  /// Lets the owner read and write the segments of the journal, if the repair may. The engine cannot be
  /// opened without that.
  private func permitSegments(_ root: borrowing Descriptor, _ place: PlaceCheck.Result) {
    let files = options.fileSystem
    guard options.repair?.reaches(.wrongMode) == true,
      let journal = try? files.open(Layout.journal, in: root, [.read, .directory])
    else { return }
    // The check of the journal reports an error.
    let names = (try? files.names(in: journal.raw)) ?? []
    for (name, _) in names where !cancellation.isSet && Layout.segmentNumber(name) != nil {
      guard let status = try? files.status(at: name, in: journal.raw), status.kind == .file,
        status.mode & 0o600 != 0o600
      else { continue }
      let path = Layout.journal.bytes + [0x2F] + name.bytes
      for suspicion in Permissions(owner: place.owner)
        .suspicions(of: status, path: path, name: name)
      where suspicion.kind == .wrongMode
        && (try? setMode(name, in: journal.raw, files)) == true
      {
        reporter.tell(suspicion.finding(.repaired))
      }
    }
  }

  /// Checks the directory of the store, and if something seems wrong, checks it again with the
  /// lock. Another process may just be making the store, or removing all its entries.
  private func look(_ root: borrowing Descriptor) throws(SystemError) -> PlaceCheck.Result {
    let place = try PlaceCheck.look(root, options)
    if place.suspicions.isEmpty { return place }
    let lock = takeLock(root)
    defer { release(lock) }
    return try PlaceCheck.look(root, options)
  }

  /// Takes the lock of the journal, if the lock file exists. Without it no process has the store
  /// open.
  private func takeLock(_ root: borrowing Descriptor) -> Descriptor? {
    try? StorePlace.lockJournal(root, makes: false, options.fileSystem)
  }

  private func release(_ lock: borrowing Descriptor?) {
    switch lock {
    case .some(let lock): options.fileSystem.unlock(lock.raw)
    case .none: break
    }
  }

  /// Opens the engine, or the tree if the engine cannot be opened; `nil` if the tree cannot be
  /// read, either.
  private func openStore(
    _ root: borrowing Descriptor, _ place: PlaceCheck.Result
  ) throws(CheckError) -> CheckedStore? {
    let isSeedLost = place.description == nil
    do throws(StoreError) {
      guard !isSeedLost else {
        throw StoreError(
          .damaged, path: path, cause: "its hash seed is not known",
          remedy: "see the finding for store.json")
      }
      // With full durability, the files of a repair are on disk before those that they replace are
      // removed.
      var how = Options(
        durability: options.repair == nil ? .process : .full, isReadOnly: options.repair == nil,
        createsStore: false, clock: options.clock, fileSystem: options.fileSystem)
      how.isSupervised = true
      let engine = try Store(at: path, options: how)
      if let repair = options.repair {
        try engine.catalog.writer.readUnread()
        let mender = try Mender(engine, repair, pass, cancellation)
        state.withLock { $0.mender = mender }
      }
      return CheckedStore(engine, owner: place.owner)
    } catch  where error.code == .newerFormat {
      throw CheckError(
        .newerFormat, path: error.path, cause: error.cause, remedy: error.remedy)
    } catch  where error.code == .readOnly {
      throw CheckError(
        .permissionDenied, path: error.path, errno: error.errno, cause: error.cause,
        remedy: "check it without a repair, or repair a copy on another disk")
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

  /// Reads the journal. If something looks wrong, it is read again, the last time with the lock, so
  /// that no process can write.
  private func checkJournal(
    _ root: borrowing Descriptor, _ place: PlaceCheck.Result
  ) -> JournalCheck.Result {
    guard let description = place.description else { return JournalCheck.Result() }
    let journal: Descriptor
    do throws(SystemError) {
      journal = try options.fileSystem.open(Layout.journal, in: root, [.read, .directory])
    } catch {
      return JournalCheck.Result(
        suspicions: error.isOfPlace ? [] : [JournalCheck.unreadable(error)])
    }
    var result = readJournal(journal, root, description, hasDeadSession: false)
    if !result.suspicions.isEmpty {
      result = readJournal(journal, root, description, hasDeadSession: false)
    }
    if !result.suspicions.isEmpty {
      let lock = takeLock(root)
      defer { release(lock) }
      result = readJournal(
        journal, root, description,
        hasDeadSession: !StagingCheck.read(root, options.fileSystem).suspicions.isEmpty)
    }
    // A store without entries needs no journal.
    if !options.fileSystem.hasEntries(root) {
      result.suspicions.removeAll { $0.kind == .journalMissing }
    }
    let bytes = result.bytes
    reporter.change { $0.journalBytes = bytes }
    return result
  }

  private func readJournal(
    _ journal: borrowing Descriptor, _ root: borrowing Descriptor,
    _ description: StoreDescription, hasDeadSession: Bool
  ) -> JournalCheck.Result {
    var markedEnd: UInt64 = 0
    if let lock = try? options.fileSystem.open(Layout.lock, in: root, [.read]) {
      markedEnd =
        Journal.markedEnd(lock, hashSeed: description.hashSeed, options.fileSystem) ?? 0
    }
    return JournalCheck.read(
      journal.raw, description, options.fileSystem, hasDeadSession: hasDeadSession,
      markedEnd: markedEnd
    ) { [cancellation] in cancellation.isSet }
  }

  /// Returns the sessions and incomplete files of processes that are gone.
  private func leftovers(_ root: borrowing Descriptor) -> StagingCheck.Result {
    let lock = takeLock(root)
    defer { release(lock) }
    var result = StagingCheck.read(root, options.fileSystem)
    result.suspicions += StagingCheck.unfinished(in: root.raw, options.fileSystem)
    return result
  }

  // MARK: The end

  /// Renews the journal and removes dead sessions, if that is necessary, checks them again, and
  /// reports the result.
  private func end(
    _ root: borrowing Descriptor, _ journal: [Suspicion], _ staging: [Suspicion],
    _ place: PlaceCheck.Result, _ store: CheckedStore
  ) {
    guard let mender,
      !journal.isEmpty || !staging.isEmpty || store.catalog?.isJournalWhole == false
    else { return }
    let attempt = mender.finish(journal: journal) { slot in
      reporter.tell(Suspicion(doubtful: slot).finding(.repaired, lostEntries: 1))
    }
    let left = leftovers(root).suspicions + checkJournal(root, place).suspicions
    for suspicion in journal + staging {
      let outcome = outcome(attempt, isLeft: suspicion.isLeft(in: left))
      if outcome != .repaired, pass.missing == .wait {
        pass.hasSpared.set()
      } else {
        reporter.tell(suspicion.finding(outcome))
      }
    }
    if pass.missing != .wait { tellDoubtful(store, attempt) }
  }
}
