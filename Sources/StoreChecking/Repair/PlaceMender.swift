internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Mends the top of a store, before the engine is opened: then nothing is mended without being told.
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

  /// Mends what was found at the top of the store: one attempt for each suspicion.
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

  /// Modes first, then what stands in the way, then what is made of the rest.
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
      try setAside(name, root)
      try makePart(name, root)
    case .partMissing: try makePart(name, root)
    case .tagWrong: try writeTag(root)
    case .descriptionMissing, .descriptionDamaged: try restoreDescription(root)
    case .seedLost: try beginAnew(root)
    case .stagingLeft: try fileSystem.removeFile(name, in: root.raw)
    case .foreignFile: try setAside(name, root)
    default: break
    }
  }

  /// Replaces a file that has another name, which may be anybody's, by a copy with the right mode.
  private func detach(_ name: PathName, _ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    let bytes = try fileSystem.readFile(name, in: root, limit: StoreDescription.maximumBytes)
    // The new one is locked before it can be seen, so that nobody writes meanwhile.
    try StorePlace.replace(
      name, with: bytes, root, strays, fileSystem, synced: true, locked: true)
  }

  /// Lets nobody else write to the store's own folder; who may look into it is its user's choice.
  private func closeRoot(_ root: borrowing Descriptor) throws(SystemError) {
    let mode = try fileSystem.status(of: root.raw).mode
    try fileSystem.changeMode(at: PathName("."), in: root.raw, to: mode & ~0o022 | 0o700)
  }

  /// Makes a part of the store that is not there.
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

  private func setAside(_ name: PathName, _ root: borrowing Descriptor) throws(SystemError) {
    try StorePlace.setAside(name, root, strays, fileSystem)
  }

  /// Writes a file of the top beside and renames it, under the name that a description has until then.
  private func writeTag(_ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    try StorePlace.replace(
      Layout.backupTag, with: Array(Layout.backupTagText.utf8), root, strays, fileSystem,
      synced: false)
  }

  /// Writes store.json again from the journal or the tree, or anew for a store without entries. Where
  /// there are some and nothing tells their seed, that is a finding of its own.
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
    } else if try isEmpty(Layout.entries, root) {
      try write(StorePlace.newDescription(clock), root)
    }
  }

  /// What store.json says, where it is whole.
  private func presentDescription(_ root: borrowing Descriptor) -> StoreDescription? {
    (try? fileSystem.readFile(Layout.description, in: root, limit: StoreDescription.maximumBytes))
      .flatMap { try? StoreDescription(decoding: $0) }
  }

  private func write(
    _ description: StoreDescription, _ root: borrowing Descriptor
  ) throws(SystemError) {
    try StorePlace.write(description, root, strays, fileSystem, synced: true)
  }

  private func isEmpty(
    _ name: PathName, _ root: borrowing Descriptor
  ) throws(SystemError) -> Bool {
    let directory = try fileSystem.open(name, in: root, [.read, .directory])
    var isEmpty = true
    try fileSystem.list(directory.raw) { _, _ in
      isEmpty = false
      return false
    }
    return isEmpty
  }

  /// Moves entries and journal into the quarantine and makes an empty store: nobody knows any more
  /// where a key would have its place.
  private func beginAnew(_ root: borrowing Descriptor) throws(SystemError) {
    let lock = try lockJournal(root)
    defer { fileSystem.unlock(lock.raw) }
    for name in [Layout.entries, Layout.journal] {
      if (try? fileSystem.status(at: name, in: root.raw)) != nil { try setAside(name, root) }
      try makePart(name, root)
    }
    try write(StorePlace.newDescription(clock), root)
  }

  /// Takes the lock of the journal, so that nobody opens the store meanwhile.
  private func lockJournal(_ root: borrowing Descriptor) throws(SystemError) -> Descriptor {
    try StorePlace.lockJournal(root, makes: true, fileSystem)
  }
}

/// Sets the mode that a file or directory of a store has; a link has none.
///
/// - Returns: false where the file has another name, which may be anybody's: its mode stays.
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
  /// Whether a kind of finding is repaired at this level.
  package func reaches(_ kind: FindingKind) -> Bool {
    guard let lowest = kind.facts.repairedBy else { return false }
    return self == .all || lowest == .safe
  }
}
