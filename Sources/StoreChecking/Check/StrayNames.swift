internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A check of the directories that contain no keys, for names that do not belong there, and for
/// wrong kinds and modes.
struct StrayNames {
  private let run: CheckRun
  private let store: CheckedStore
  private let strays: StrayCheck

  private var fileSystem: any FileSystem { store.fileSystem }

  init(_ run: CheckRun, _ store: CheckedStore) {
    self.run = run
    self.store = store
    strays = StrayCheck(run: run, store: store)
  }

  /// Checks the directory of the store, `entries`, `journal` and `staging`. In `quarantine` any
  /// name is allowed.
  ///
  /// - Parameter foreign: the names in `journal` that are no segments, as the check of the journal
  ///   has found.
  func check(_ root: borrowing Descriptor, journal foreign: [PathName]) {
    list(root, []) { name, _ in Layout.topNames.contains(name.text) }
    checkShards()
    if let journal = try? fileSystem.open(Layout.journal, in: root, [.read, .directory]) {
      checkJournal(journal, foreign)
    }
    if let staging = try? fileSystem.open(Layout.staging, in: root, [.read, .directory]) {
      list(staging, Layout.staging.bytes) { $1 == .directory && Layout.isSession($0) }
    }
  }

  /// Reports the names for which `isKnown` returns false.
  private func list(
    _ directory: borrowing Descriptor, _ path: [UInt8], _ isKnown: (PathName, FileKind) -> Bool
  ) {
    var tally = StrayTally(path: path)
    var count = 0
    let raw = directory.raw
    try? fileSystem.list(raw) { name, kind in
      count += 1
      if !isKnown(name, kind) { strays.checkForeign(name, in: raw, &tally) }
      return count < CheckLimits.names && !run.cancellation.isSet
    }
    strays.end(tally)
  }

  private func checkShards() {
    let entries = store.entries
    let directory = entries.directory.raw
    list(entries.directory, Layout.entries.bytes) { name, _ in isShard(name) }
    for number in 0..<Layout.shardCount {
      let name = Layout.shard(number)
      guard let status = try? fileSystem.status(at: name, in: directory) else { continue }
      check(status, .directory, name, in: directory, below: Layout.entries)
    }
  }

  private func isShard(_ name: PathName) -> Bool {
    (0..<Layout.shardCount).contains { Layout.shard($0).bytes == name.bytes }
  }

  private func checkJournal(_ directory: borrowing Descriptor, _ foreign: [PathName]) {
    let raw = directory.raw
    var tally = StrayTally(path: Layout.journal.bytes)
    for name in foreign { strays.checkForeign(name, in: raw, &tally) }
    strays.end(tally)
    for name in fileSystem.segmentNames(in: raw) {
      // The check of the journal has reported segments that are no regular files.
      guard let status = try? fileSystem.status(at: name, in: raw), status.kind == .file
      else { continue }
      check(status, .file, name, in: raw, below: Layout.journal)
    }
  }

  /// Checks a part of the store. Each has findings of its own, however many there are.
  private func check(
    _ status: FileStatus, _ kind: FileKind, _ name: PathName, in directory: Int32,
    below place: PathName
  ) {
    var tally = StrayTally(path: place.bytes)
    run.reporter.add(files: 1)
    guard status.kind == kind else {
      let words = "\(status.kind.words), should be \(kind.words)"
      strays.tell(
        Suspicion(kind: .wrongKind, path: tally.path(name), name: name, detail: words),
        name, in: directory, &tally)
      return
    }
    for suspicion in Permissions(owner: store.owner)
      .suspicions(of: status, path: tally.path(name), name: name)
    {
      strays.tell(suspicion, name, in: directory, &tally)
    }
  }
}

extension FileSystem {
  /// Returns the names in the directory of the journal that segments have.
  func segmentNames(in directory: Int32) -> [PathName] {
    var names: [PathName] = []
    try? list(directory) { name, _ in
      if Layout.segmentNumber(name) != nil { names.append(name) }
      return names.count < CheckLimits.segments
    }
    return names
  }
}
