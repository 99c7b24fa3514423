internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The directory `staging` of a store, with the sessions of all processes that write.
final class Staging: Sendable {
  let place: StorePlace
  let clock: any WallClock
  private let own = Mutex<Session?>(nil)
  private let counts = SessionCounts()
  /// The names of the sessions that were dead when the store was opened.
  private let deadAtOpening = Mutex<Set<[UInt8]>>([])
  /// The directories of replaced keys in the session.
  let replaced = Lock(ReplacedKeys())
  /// Whether the last `sweep` has left something that could not be deleted.
  let hasUnswept = Atomic<Bool>(false)

  var fileSystem: any FileSystem { place.fileSystem }
  private var path: String { "\(place.path)/staging" }

  /// The first half of the names of sessions of this run of the machine.
  let boot: UInt64

  init(_ place: StorePlace, _ options: Options) {
    self.place = place
    clock = options.clock
    boot = options.bootName.map { Checksum.of($0) >> 32 } ?? 0
  }

  /// Returns whether a session is of an earlier run of the machine, or whether that is not known.
  func isOfEarlierBoot(_ session: PathName) -> Bool {
    boot == 0 || session.hex(in: 0..<8) != boot
  }

  /// Returns whether there are sessions of this run of the machine, and of earlier ones.
  func sessionBoots() throws(StoreError) -> (this: Bool, earlier: Bool) {
    let names = try sessions { _ in true }
    return (!names.allSatisfy(isOfEarlierBoot), names.contains(where: isOfEarlierBoot))
  }

  // MARK: The session of this process

  /// Whether this process has the lock of a session, which may have been given up and still be used.
  var hasLock: Bool { counts.locks.load(ordering: .acquiring) > 0 }

  /// The session; `nil` before the first write.
  var session: Session? { own.withLock { $0 } }

  /// Makes the session of this process. The caller holds the journal's lock, so that no process
  /// mistakes the new directory for that of a killed process before it is locked.
  func makeSession() throws(StoreError) -> Session {
    let name = newName(of: boot)
    let made = try system("\(path)/\(name.text)") { () throws(SystemError) in
      try fileSystem.makeDirectory(
        name, in: place.staging.raw, mode: StorePlace.directoryMode)
      do throws(SystemError) {
        let directory = try fileSystem.open(name, in: place.staging, [.read, .directory])
        guard try fileSystem.tryLock(directory) else { throw .wouldBlock }
        if place.durability == .full { try fileSystem.synchronize(place.staging, names: true) }
        return Session(name: name, directory: directory, in: place, counts)
      } catch {
        // Others would take it for that of a killed process.
        try? fileSystem.removeDirectory(name, in: place.staging.raw)
        throw error
      }
    }
    own.withLock { $0 = made }
    return made
  }

  /// Makes a session of an earlier run of the machine: the sign of a restart that no other one shows. It
  /// stays until tree and journal were compared.
  func leaveSignOfRestart() throws(StoreError) {
    let name = newName(of: boot ^ 1)
    try system("\(path)/\(name.text)") { () throws(SystemError) in
      try fileSystem.makeDirectory(name, in: place.staging.raw, mode: StorePlace.directoryMode)
      try fileSystem.synchronize(place.staging, names: true)
    }
  }

  /// Returns a name for a session of a run of the machine.
  private func newName(of boot: UInt64) -> PathName {
    var name = PathName()
    name.appendHex(boot, digits: 8)
    name.appendHex(.random(in: .min ... .max), digits: 8)
    return name
  }

  /// Ends the session of this process when nobody uses it any more. The next write makes another.
  ///
  /// A call that still runs has appended its record, perhaps, and needs its staged files for the tree. If
  /// the process ends before, the directory shows the next one that it has to compare.
  func giveSessionUp() {
    sweepReplaced()
    own.withLock { $0.take() }?.isGivenUp.store(true, ordering: .releasing)
  }

  /// Makes the session of this process look like that of one that is gone, also while it is still used: by a
  /// `BodyWriter`, whose file others may then remove.
  func abandonSession() {
    guard let session else { return }
    session.stays.store(true, ordering: .relaxed)
    giveSessionUp()
    fileSystem.unlock(session.directory.raw)
  }

  /// Ends the session of this process if no call uses it and nothing in it is needed.
  ///
  /// - Returns: whether there is none any more.
  func endUnusedSession() -> Bool {
    let ended = own.withLock { own -> Session? in
      // What cannot be deleted does not keep the session. Its directory stays for a later comparison.
      guard isKnownUniquelyReferenced(&own), !replaced.withLock({ $0.hasUntried })
      else { return nil }
      replaced.withLock { $0 = ReplacedKeys() }
      return own.take()
    }
    ended?.removeDirectory()
    return ended != nil
  }

  /// Notes that a file of a key could not be removed, although the journal does not have it.
  func noteLeftover(_ error: SystemError) {
    if error == .notFound || error == .notEmpty { return }
    noteUnclean()
  }

  /// Whether the next opening has to compare tree and journal.
  var isUnclean: Bool { counts.hasLeftovers }

  /// Makes the next opening compare tree and journal, unless this process does so before.
  func noteUnclean() { counts.leftovers.add(1, ordering: .relaxed) }

  /// The number of times that this process has left something to a comparison.
  var uncleanCount: Int { counts.leftovers.load(ordering: .relaxed) }

  /// Notes that tree and journal were compared.
  ///
  /// - Parameter count: the number of times at the begin.
  func setCompared(_ count: Int) { counts.compared.store(count, ordering: .relaxed) }

  /// Deletes the directories that were moved into the session. The files of writers stay.
  ///
  /// - Parameter end: the number of the last record. A directory that was moved after it may be moved
  ///   back.
  func sweep(upTo end: UInt64, while isWanted: () -> Bool) {
    guard let session else { return }
    replaced.withLock { $0.tryFailedAgain() }
    while isWanted() && !sweepReplaced(until: 0) {}
    var directories: [PathName] = []
    let isListed =
      (try? fileSystem.list(session.directory.raw) { name, kind in
        if kind == .directory, !Layout.isReplaced(name), Self.sequence(name) ?? 0 < end {
          directories.append(name)
        }
        return true
      }) != nil
    var areGone = isListed
    for name in directories where isWanted() {
      if let old = try? fileSystem.open(name, in: session.directory, [.read, .directory]) {
        fileSystem.removeTree(old)
      }
      if (try? fileSystem.removeDirectory(name, in: session.directory.raw)) == nil {
        areGone = false
      }
    }
    hasUnswept.store(!areGone || hasReplaced, ordering: .relaxed)
  }

  // MARK: The sessions of other processes

  /// Returns whether another process has the store open for writing. The caller holds the journal's
  /// lock.
  func hasLiveSessions() throws(StoreError) -> Bool {
    try sessions { directory in
      ((try? fileSystem.tryLock(directory)) ?? true) == false
    }.isEmpty == false
  }

  /// Returns the names of sessions whose processes are gone. The caller holds the journal's lock.
  func deadSessions() throws(StoreError) -> [PathName] {
    try sessions { (try? fileSystem.tryLock($0)) ?? false }
  }

  /// Notes the sessions that were dead when the store was opened.
  func noteDeadAtOpening(_ names: [PathName]) {
    let killed = Set(names.filter { !wasClosed($0) }.map(\.bytes))
    deadAtOpening.withLock { $0 = killed }
  }

  /// Whether there were sessions of killed processes when the store was opened.
  var hadDeadAtOpening: Bool { deadAtOpening.withLock { !$0.isEmpty } }

  /// Returns whether a process was killed since the store was opened, and its session is there. The
  /// system ends the locks of a killed process one by one, so this may follow a moment after another
  /// of its locks is free. The caller holds the journal's lock.
  func hasNewDeadSession() throws(StoreError) -> Bool {
    let known = deadAtOpening.withLock { $0 }
    return try deadSessions().contains { !known.contains($0.bytes) && !wasClosed($0) }
  }

  /// Returns whether a process has closed the store and left its session only because tree and journal were
  /// not compared. It was not killed, so it does not explain a file without a record.
  private func wasClosed(_ session: PathName) -> Bool {
    guard let directory = try? openSession(session) else { return false }
    return (try? fileSystem.status(at: Self.closed, in: directory.raw)) != nil
  }

  /// Returns the names of other processes' sessions that can be opened and that `isWanted` accepts.
  private func sessions(
    where isWanted: (borrowing Descriptor) -> Bool
  ) throws(StoreError) -> [PathName] {
    var names: [PathName] = []
    try system(path) { () throws(SystemError) in
      try fileSystem.list(place.staging.raw) { name, kind in
        if kind == .directory && Layout.isSession(name) { names.append(name) }
        return true
      }
    }
    let own = session?.name.bytes
    var wanted: [PathName] = []
    for name in names where name.bytes != own {
      if let directory = try openSession(name), isWanted(directory) { wanted.append(name) }
    }
    return wanted
  }

  /// Opens the directory of a session. Returns `nil` if it is gone or cannot be read.
  ///
  /// - Throws: an error if no descriptor is free: the session may be that of a living process.
  func openSession(_ name: PathName) throws(StoreError) -> Descriptor? {
    try system("\(path)/\(name.text)") { () throws(SystemError) in
      do throws(SystemError) {
        return try fileSystem.open(name, in: place.staging, [.read, .directory])
      } catch {
        if error.isOutOfDescriptors { throw error }
        return nil
      }
    }
  }

  /// Removes a dead session and its contents, unless a process holds its lock.
  func removeSession(_ name: PathName) {
    guard let directory = openDead(name) else { return }
    removeReplaced(in: directory)
    fileSystem.removeTree(directory)
    try? fileSystem.removeDirectory(name, in: place.staging.raw)
  }

  /// Removes the files and the replaced keys of a dead session. The directory stays as the sign that
  /// tree and journal have to be compared. It is not locked, so that another process that opens the
  /// store meanwhile sees the sign, too.
  func removeFiles(ofSession name: PathName) {
    guard let directory = try? openSession(name) else { return }
    var names: [PathName] = []
    try? fileSystem.list(directory.raw) { name, kind in
      if kind != .directory, !Self.isNote(name) { names.append(name) }
      return true
    }
    for name in names { try? fileSystem.removeFile(name, in: directory.raw) }
    removeReplaced(in: directory)
  }

  /// Opens and locks a dead session; `nil` if a process holds its lock.
  private func openDead(_ name: PathName) -> Descriptor? {
    guard let directory = try? fileSystem.open(name, in: place.staging, [.read, .directory]),
      (try? fileSystem.tryLock(directory)) == true
    else { return nil }
    return directory
  }

  /// Returns the number of the last record before a removal of all entries, if the process of a
  /// session was killed during one: the directory that it moved is still there. 0 if the name of the
  /// directory does not tell.
  func movedEntries(_ session: PathName) throws(StoreError) -> UInt64? {
    try moved(in: session).map { $0 ?? 0 }.max()
  }

  /// Returns the numbers in the names of the directories that a session has moved away; `nil` for a
  /// name without one.
  private func moved(in session: PathName) throws(StoreError) -> [UInt64?] {
    var found: [UInt64?] = []
    guard let directory = try openSession(session) else { return [] }
    try? fileSystem.list(directory.raw) { name, kind in
      if kind == .directory, !Layout.isReplaced(name) { found.append(Self.sequence(name)) }
      return true
    }
    return found
  }

  /// Returns the number of the last record before a removal of all entries, if it is not lower than that
  /// of the last record of the journal: a process has moved all entries away, and has not appended a
  /// record of it. The caller holds the journal's lock.
  func movedEntries(after sequence: UInt64) throws(StoreError) -> UInt64? {
    var names = try sessions { _ in true }
    if let session { names.append(session.name) }
    var last: UInt64?
    for name in names {
      for case let number? in try moved(in: name) where number >= sequence {
        last = max(last ?? number, number)
      }
    }
    return last
  }

  /// Returns the name in the session for the directory of all entries that are removed.
  ///
  /// - Parameter sequence: the number of the last record before the removal.
  static func nameOfMoved(after sequence: UInt64, _ session: Session) -> PathName {
    var name = PathName()
    name.appendHex(sequence, digits: 16)
    name.append("-")
    name.append(session.unusedName())
    return name
  }

  private static func sequence(_ name: PathName) -> UInt64? {
    name.count == 33 ? name.hex(in: 0..<16) : nil
  }
}

extension Tree {
  /// Moves the `entries` directory into staging, and makes a new one. Other threads and processes
  /// use the old one until they read in the journal that all entries were removed.
  func moveEntries(to name: PathName, of session: Session) throws(StoreError) {
    try system("\(path)/entries") { () throws(SystemError) in
      try fileSystem.rename(
        Layout.entries, in: place.root.raw, to: name, in: session.directory.raw)
    }
    try makeEntries()
  }

  /// Makes the `entries` directory, if there is none.
  func makeEntries() throws(StoreError) {
    try system("\(path)/entries") { () throws(SystemError) in
      try StorePlace.makeDirectory(Layout.entries, place.root, fileSystem)
      // What another process promises in the new directory needs its name.
      if place.isDurable { try fileSystem.synchronize(place.root, names: true) }
    }
  }

  /// Undoes `moveEntries`, after a sync failed, or the record could not be appended to the journal.
  func moveEntriesBack(from name: PathName, of session: Session) {
    if fileSystem.isMissing(name, in: session.directory.raw) { return }
    try? fileSystem.removeDirectory(Layout.entries, in: place.root.raw)
    try? fileSystem.rename(
      name, in: session.directory.raw, to: Layout.entries, in: place.root.raw)
    hasMovedBack.store(true, ordering: .sequentiallyConsistent)
    try? synchronizeMovedBack()
  }

  /// Makes sure that a loss of power cannot move the `entries` directory again, before anything in it
  /// is promised. Does nothing if that is certain.
  func synchronizeMovedBack() throws(StoreError) {
    guard place.isDurable, hasMovedBack.load(ordering: .sequentiallyConsistent) else { return }
    try system(path) { () throws(SystemError) in
      try fileSystem.synchronize(place.root, names: true)
    }
    hasMovedBack.store(false, ordering: .sequentiallyConsistent)
  }
}
