internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The repair of the directory of a store. It is done before the engine is opened, which would
/// repair without a report.
struct PlaceMender {
  let level: RepairLevel
  let fileSystem: any FileSystem
  let clock: any WallClock
  let strays: StrayQuarantine

  init(_ options: CheckOptions, _ level: RepairLevel) {
    self.level = level
    fileSystem = options.fileSystem
    clock = options.clock
    strays = StrayQuarantine(options.fileSystem, options.clock)
  }

  /// Repairs what was found in the directory of the store, and returns one attempt for each
  /// suspicion.
  func mend(_ suspicions: [Suspicion], root: borrowing Descriptor) -> [MendAttempt] {
    var attempts = [MendAttempt](repeating: .none, count: suspicions.count)
    let order = suspicions.indices.filter { level.reaches(suspicions[$0].kind) }
      .sorted { Self.turn(suspicions[$0].kind) < Self.turn(suspicions[$1].kind) }
    for place in order {
      do throws(SystemError) {
        try mend(suspicions[place], root)
        attempts[place] = .done
      } catch {
        attempts[place] = .failed(error.description)
      }
    }
    return attempts
  }

  /// Returns the position of a kind in the order of repairs: first modes, then files of a wrong
  /// kind, then the parts that are made again.
  private static func turn(_ kind: FindingKind) -> Int {
    switch kind {
    case .wrongMode: 0
    case .wrongKind: 1
    case .seedLost: 2
    case .partMissing: 3
    default: 4
    }
  }

  private func mend(
    _ suspicion: Suspicion, _ root: borrowing Descriptor
  ) throws(SystemError) {
    guard let name = suspicion.name else {
      if suspicion.kind == .wrongMode { try closeRoot(root) }
      return
    }
    switch suspicion.kind {
    case .wrongMode:
      if try !setMode(name, in: root.raw, fileSystem) { try detach(name, root) }
    case .wrongKind:
      try setAsideWrongKind(name, root)
      try makePart(name, root)
    case .partMissing: try makePart(name, root)
    case .tagWrong: try writeTag(root)
    case .descriptionMissing, .descriptionDamaged: try restoreDescription(root)
    case .seedLost: try beginAnew(root)
    default: break
    }
  }

  /// Replaces a file that has a second name (a hard link) by a copy with the right mode. The other
  /// name may be somebody else's.
  private func detach(_ name: PathName, _ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    let bytes = try fileSystem.readFile(name, in: root, limit: StoreDescription.maximumBytes)
    // The new file is locked before it gets its name, so that no process writes meanwhile.
    try StorePlace.replace(name, with: bytes, root, strays, synced: true, locked: true)
  }

  /// Makes the directory of the store writable for its owner only. Whether others may read it is
  /// the user's choice.
  private func closeRoot(_ root: borrowing Descriptor) throws(SystemError) {
    let mode = try fileSystem.status(of: root.raw).mode
    try fileSystem.changeMode(at: PathName("."), in: root.raw, to: mode & ~0o022 | 0o700)
  }

  private func makePart(_ name: PathName, _ root: borrowing Descriptor) throws(SystemError) {
    switch name.bytes {
    case Layout.journal.bytes, Layout.entries.bytes, Layout.staging.bytes, Layout.quarantine.bytes:
      try StorePlace.makeDirectory(name, root, fileSystem)
    case Layout.lock.bytes: _ = try fileSystem.open(name, in: root, [.write, .create])
    case Layout.description.bytes: try restoreDescription(root)
    case Layout.backupTag.bytes: try writeTag(root)
    default: break
    }
  }

  /// Sets aside what stands in the place of a part, unless a program that has opened the store since
  /// the examination has done so, and uses the part that it made.
  private func setAsideWrongKind(
    _ name: PathName, _ root: borrowing Descriptor
  ) throws(SystemError) {
    // If the lock itself has the wrong kind, nobody can hold it.
    if name.bytes == Layout.lock.bytes { return try setAsideIfWrong(name, isFile: true, root) }
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    let isFile = [Layout.description, Layout.backupTag].contains { $0.bytes == name.bytes }
    try setAsideIfWrong(name, isFile: isFile, root)
  }

  private func setAsideIfWrong(
    _ name: PathName, isFile: Bool, _ root: borrowing Descriptor
  ) throws(SystemError) {
    let kind = try fileSystem.status(at: name, in: root.raw).kind
    if kind != (isFile ? .file : .directory) { try setAside(name, root) }
  }

  private func setAside(_ name: PathName, _ root: borrowing Descriptor) throws(SystemError) {
    try StorePlace.setAside(name, root, strays)
  }

  private func writeTag(_ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    try StorePlace.replace(
      Layout.backupTag, with: Array(Layout.backupTagText.utf8), root, strays, synced: false)
  }

  /// Writes store.json again from the journal or the tree, or a new one for a store without
  /// entries. If there are entries and no file has their seed, nothing is written; that is a
  /// finding of its own.
  private func restoreDescription(_ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    if let present = presentDescription(root) {
      guard let other = StorePlace.contradiction(of: present, root, fileSystem, clock)
      else { return }
      try setAside(Layout.description, root)
      try write(other, root)
    } else if let description = StorePlace.restorable(root, fileSystem, clock) {
      try write(description, root)
    } else {
      let entries = try fileSystem.open(Layout.entries, in: root, [.read, .directory])
      if try fileSystem.isEmpty(entries) { try write(StorePlace.newDescription(clock), root) }
    }
  }

  /// Returns the content of store.json; `nil` if it is missing or damaged.
  private func presentDescription(_ root: borrowing Descriptor) -> StoreDescription? {
    (try? fileSystem.readFile(Layout.description, in: root, limit: StoreDescription.maximumBytes))
      .flatMap { try? StoreDescription(decoding: $0) }
  }

  private func write(
    _ description: StoreDescription, _ root: borrowing Descriptor
  ) throws(SystemError) {
    try StorePlace.write(description, root, strays, synced: true)
  }

  /// Moves entries and journal into the quarantine, and makes an empty store. Without the seed, no
  /// entry can be found.
  private func beginAnew(_ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    // A program may have begun anew since the examination.
    if presentDescription(root) != nil || StorePlace.restorable(root, fileSystem, clock) != nil {
      return
    }
    for name in [Layout.entries, Layout.journal] {
      if (try? fileSystem.status(at: name, in: root.raw)) != nil { try setAside(name, root) }
      try makePart(name, root)
    }
    try write(StorePlace.newDescription(clock), root)
  }

  /// Takes the lock of the journal, so that no other process opens the store meanwhile.
  private func lockJournal(_ root: borrowing Descriptor) throws(SystemError) -> Descriptor {
    try StorePlace.lockJournal(root, makes: true, fileSystem)
  }
}

/// Sets the right mode of a file or directory of a store.
///
/// - Returns: false if the file has a second name (a hard link), which may be somebody else's. Then
///   its mode is not changed.
func setMode(
  _ name: PathName, in directory: Int32, _ fileSystem: any FileSystem
) throws(SystemError) -> Bool {
  let status = try fileSystem.status(at: name, in: directory)
  if status.isLinked { return false }
  let mode = status.kind == .directory ? StorePlace.directoryMode : 0o600
  try fileSystem.changeMode(at: name, in: directory, to: mode)
  return true
}

extension RepairLevel {
  package func reaches(_ kind: FindingKind) -> Bool {
    guard let lowest = kind.facts.repairedBy else { return false }
    return self == .all || lowest == .safe
  }
}
