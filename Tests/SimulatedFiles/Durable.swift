internal import CacheSystem
internal import TestSupport

/// A change of names: one of them, or with a rename two. No file system in use tears a rename: both
/// halves are one transaction.
struct NameChange: Sendable {
  typealias Place = (directory: FileNumber, name: FileName)

  var file: FileNumber
  var removed: Place?
  var added: Place?
  /// The bytes that a file had when its rename replaced another.
  var flushed: FileData?
  var time: Int64 = 0
  /// Whether one of its directories was synced since.
  var isSynced = false

  init(adding name: FileName, of file: FileNumber, to directory: FileNumber) {
    self.file = file
    added = (directory, name)
  }

  init(removing name: FileName, of file: FileNumber, from directory: FileNumber) {
    self.file = file
    removed = (directory, name)
  }

  init(
    moving file: FileNumber, from: FileNumber, _ oldName: FileName, to: FileNumber,
    _ newName: FileName, flushed: FileData?
  ) {
    self.file = file
    removed = (from, oldName)
    added = (to, newName)
    self.flushed = flushed
  }
}

/// How many changes of the log each kind of ordered file system has committed.
struct OrderedCommits: Sendable {
  var ext4 = 0
  var apfs = 0
}

/// What a file system keeps of what was not synced when the power goes.
package enum PowerLossProfile: String, Sendable, CaseIterable {
  /// Only what was synced is sure: the bytes of files by fsync or fdatasync, names by fsync of their
  /// directory. Of everything else any part may be there (POSIX.1-2024, fsync; Pillai et al., "All
  /// File Systems Are Not Created Equal", OSDI 2014).
  case posix
  /// ext4 with data=ordered: names persist in their order. fsync of a file commits the transaction
  /// of its last change, and all earlier names with it; fdatasync does so where the length has
  /// changed. Bytes that were not synced may be missing page by page, but a rename that replaces a
  /// file flushes them first (auto_da_alloc of ext4(5); measured).
  case ext4
  /// APFS with F_FULLFSYNC, which is what a sync is on Apple platforms: names persist in their order,
  /// a sync makes sure those up to the last change of its file, and a rename flushes nothing
  /// (fsync(2) and fcntl(2) of macOS; Apple File System Guide, "Atomic Safe-Save"). Not measured.
  case apfs
}

extension Disk {
  /// fsync(2), or fdatasync(2) where `names` is false.
  mutating func synchronize(_ number: FileNumber, names: Bool) {
    guard let node = nodes[number] else { return }
    if node.kind == .directory {
      for place in log.indices
      where log[place].added?.directory == number || log[place].removed?.directory == number {
        log[place].isSynced = true
      }
    }
    let isLonger = node.data.length != node.syncedData.length
    if isLonger || names && node.lastChange > committed.ext4 { committed.ext4 = log.count }
    committed.apfs = max(committed.apfs, node.lastChange)
    if node.hasFailedSync { return }
    nodes[number]?.syncedData = node.data
    nodes[number]?.syncTime = now
  }

  /// A failed syncfs(2): no later sync writes what the files have now. File systems stop at once if they
  /// cannot write directories, so these do not count.
  mutating func failSync(open: [OpenFile]) {
    for (number, node) in nodes where node.kind == .file && node.data != node.syncedData {
      nodes[number]?.hasFailedSync = true
      nodes[number]?.unreported = Set(open.filter { $0.number == number }.map(\.opening))
    }
  }

  /// Makes all durable that is there, and forgets what is not, except files that are open.
  mutating func settle(open: Set<FileNumber> = []) {
    for (number, node) in nodes {
      if node.linkCount == 0 && !open.contains(number) {
        nodes[number] = nil
        continue
      }
      nodes[number]?.syncedData = node.data
      nodes[number]?.settledEntries = node.entries
      nodes[number]?.lastChange = 0
    }
    log = []
    committed = OrderedCommits()
  }

  /// What stands on the disk after a power cut.
  ///
  /// - Parameter seed: decides what of the rest is there; nil for nothing but what is sure.
  func afterPowerLoss(_ profile: PowerLossProfile, seed: UInt64?) -> Disk {
    var random = SplitMix64(seed: seed ?? 0)
    let applied = appliedChanges(profile, isLeast: seed == nil, &random)
    var result = self
    for (number, node) in nodes {
      result.nodes[number]?.entries = node.settledEntries
      result.nodes[number]?.linkCount = 0
      result.nodes[number]?.hasFailedSync = false
      result.nodes[number]?.unreported = []
    }
    var flushed: [FileNumber: FileData] = [:]
    for (change, isApplied) in zip(log, applied) where isApplied {
      result.apply(change)
      // A flush before the last sync says less than that.
      if profile == .ext4, change.time > nodes[change.file]?.syncTime ?? 0,
        let data = change.flushed
      {
        flushed[change.file] = data
      }
    }
    for (number, node) in nodes.sorted(by: { $0.key < $1.key }) where node.kind == .file {
      let sure = flushed[number] ?? node.syncedData
      result.nodes[number]?.data = seed == nil ? sure : sure.torn(towards: node.data, &random)
    }
    result.countLinks()
    result.settle()
    return result
  }

  private func appliedChanges(
    _ profile: PowerLossProfile, isLeast: Bool, _ random: inout SplitMix64
  ) -> [Bool] {
    let sure =
      switch profile {
      case .posix: 0
      case .ext4: committed.ext4
      case .apfs: committed.apfs
      }
    if profile != .posix {
      let end = isLeast ? sure : sure + Int(random.next() % UInt64(log.count - sure + 1))
      return log.indices.map { $0 < end }
    }
    // Few, half or most of what is not sure.
    let quarters = random.next() % 3 + 1
    return log.map { change in
      let isChosen = random.next() % 4 < quarters
      return change.isSynced || !isLeast && isChosen
    }
  }

  private mutating func apply(_ change: NameChange) {
    if let (directory, name) = change.removed, nodes[directory]?.entries[name] == change.file {
      nodes[directory]?.entries[name] = nil
    }
    if let (directory, name) = change.added {
      // A name that was made where another one had been removed needs that removal.
      if change.removed == nil, nodes[directory]?.entries[name] != nil { return }
      nodes[directory]?.entries[name] = change.file
      if nodes[change.file]?.kind == .directory { nodes[change.file]?.parent = directory }
    }
  }

  private mutating func countLinks() {
    var waiting = [Self.root]
    nodes[Self.root]?.linkCount = 1
    while let directory = waiting.popLast() {
      for number in (nodes[directory]?.entries ?? [:]).values {
        nodes[number]?.linkCount += 1
        if let node = nodes[number], node.kind == .directory, node.linkCount == 1 {
          waiting.append(number)
        }
      }
    }
  }
}
