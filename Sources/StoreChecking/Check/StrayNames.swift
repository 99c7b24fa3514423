internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Looks through the directories that hold no keys for names that do not belong there, and for what is
/// of a wrong kind or mode.
struct StrayNames {
  private let run: CheckRun
  private let store: CheckedStore
  private let strays: StrayCheck

  private var fileSystem: any FileSystem { store.fileSystem }

  init(_ run: CheckRun, _ store: CheckedStore) {
    self.run = run
    self.store = store
    strays = StrayCheck(run, store)
  }

  /// Looks at the top, at `entries`, at `journal` and at `staging`. What is in `quarantine` is anybody's.
  func check(_ root: borrowing Descriptor) {
    list(root.raw, []) { name, _ in Layout.topNames.contains(name.text) }
    checkShards()
    if let journal = try? fileSystem.open(Layout.journal, in: root, [.read, .directory]) {
      checkModes(journal.raw, Layout.journal.bytes)
    }
    if let staging = try? fileSystem.open(Layout.staging, in: root, [.read, .directory]) {
      list(staging.raw, Layout.staging.bytes) { $1 == .directory }
    }
  }

  /// Tells of the names that `isKnown` does not take.
  private func list(
    _ directory: Int32, _ path: [UInt8], _ isKnown: (PathName, FileKind) -> Bool
  ) {
    var tally = StrayTally(path: path)
    var count = 0
    try? fileSystem.list(directory) { name, kind in
      count += 1
      if !isKnown(name, kind) { strays.checkForeign(name, in: directory, &tally) }
      return count < CheckLimits.names && !run.cancellation.isSet
    }
    strays.end(tally)
  }

  private func checkShards() {
    let entries = store.entries
    let directory = entries.directory.raw
    list(directory, Layout.entries.bytes) { name, _ in isShard(name) }
    var tally = StrayTally(path: Layout.entries.bytes)
    for number in 0..<Layout.shardCount {
      let name = Layout.shard(number)
      guard let status = try? fileSystem.status(at: name, in: directory) else { continue }
      check(status, .directory, name, in: directory, &tally)
    }
  }

  private func isShard(_ name: PathName) -> Bool {
    (0..<Layout.shardCount).contains { Layout.shard($0).bytes == name.bytes }
  }

  private func checkModes(_ directory: Int32, _ path: [UInt8]) {
    var names: [PathName] = []
    try? fileSystem.list(directory) { name, _ in
      if Layout.segmentNumber(name) != nil { names.append(name) }
      return names.count < 1 << 20
    }
    var tally = StrayTally(path: path)
    for name in names {
      // What is no file has been told by whoever read the journal.
      guard let status = try? fileSystem.status(at: name, in: directory), status.kind == .file
      else { continue }
      check(status, .file, name, in: directory, &tally)
    }
  }

  private func check(
    _ status: FileStatus, _ kind: FileKind, _ name: PathName, in directory: Int32,
    _ tally: inout StrayTally
  ) {
    run.reporter.add(files: 1)
    guard status.kind == kind else {
      let words = "\(status.kind.words), should be \(kind.words)"
      strays.tell(
        Suspicion(.wrongKind, path: tally.path(name), name: name, words), name, in: directory,
        &tally)
      return
    }
    for suspicion in Permissions(owner: store.owner)
      .suspicions(of: status, path: tally.path(name), name: name)
    {
      strays.tell(suspicion, name, in: directory, &tally)
    }
  }
}
