import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles

/// Opens a store on what a fault has left, and holds it against the promises of the store.
struct CrashCheck {
  let scenario: CrashScenario
  let durability: Durability
  /// Whether the power went.
  var hasLostPower = false

  /// False where the store may have lost things.
  private var isPromised: Bool { durability == .full || !hasLostPower }

  /// - Returns: what is wrong.
  func complaints(_ volume: SimulatedVolume, _ ledger: CrashLedger) -> [String] {
    // Without full durability a power cut may leave holes in the journal, and after the store was
    // closed nobody syncs the metadata files: what is missing then is for the checker. But whatever is
    // there has to count.
    let isCompared =
      !hasLostPower
      || isPromised && volume.tree.keys.contains { $0.hasPrefix("store/staging/") }
    let run = scenario.run(
      SimulatedProcess(on: volume), durability, ledger.withoutComplaints, after: 1,
      afterPowerLoss: hasLostPower)
    do {
      try run.open()
      // Before the upkeep has put things right, and after it.
      run.check(isPromised: isPromised)
      try run.settle()
      run.check(isPromised: isPromised)
      try run.put("probe", 1)
      try run.settle()
      run.check(isPromised: isPromised)
      try run.settleLog()
      run.check(isPromised: isPromised)
      // The access times of these look-ups would go to the journal some time later.
      try run.store().flush()
      try run.settle()
      let store = try run.store()
      if isCompared {
        checkNumbers(store, volume, run)
      } else if !isPromised {
        checkCounted(store, volume, run)
      }
    } catch {
      run.complain("the store is not usable")
    }
    run.close()
    if isCompared { checkLeftovers(volume, run) }
    return run.ledger.complaints + again(volume, run.ledger.withoutComplaints)
  }

  /// Opened once more, nothing is left to be put right.
  private func again(_ volume: SimulatedVolume, _ ledger: CrashLedger) -> [String] {
    let run = scenario.run(
      SimulatedProcess(on: volume), durability, ledger, after: 2,
      afterPowerLoss: hasLostPower)
    guard (try? run.open()) != nil, let store = try? run.store()
    else { return run.ledger.complaints }
    let statistics = store.statistics
    if !statistics.isComplete || statistics.journalDamages > 0 {
      let files = volume.tree.filter { $0.key.contains("journal") || $0.key.contains("lock") }
        .map { "\($0.key) \($0.value.length)" }
      run.complain(
        "the journal is not whole after it was put right: \(statistics.journalDamages), "
          + "\(statistics.isComplete), \(files.sorted())")
    }
    run.check(isPromised: isPromised)
    run.close()
    return run.ledger.complaints
  }

  /// The statistics against the tree, and both against the limits.
  private func checkNumbers(_ store: Store, _ volume: SimulatedVolume, _ run: CrashRun) {
    let tree = CrashTree(volume)
    // A removal of all that failed in the middle, and could not be told to the journal, looks as if the
    // entries were away: they stay known. Nothing else takes a shard away.
    let isAway = store.entries().contains { info in
      let hash = KeyHash(hashing: info.key, seed: store.hashSeed)
      return volume.tree["store/entries/\(hash.shardName)"] == nil
    }
    if isAway {
      if !"\(scenario)".contains("removeAll") { run.complain("a shard is missing") }
      return
    }
    let (said, limits) = (store.statistics, store.limits)
    if said.entries != tree.metadata.count {
      run.complain("\(said.entries) entries, \(tree.metadata.count) in the tree")
    }
    let logical = tree.bodies.reduce(tree.embeddedBytes) { $0 + $1.length }
    if said.logicalBytes != logical {
      run.complain("\(said.logicalBytes) bytes, \(logical) in the tree")
    }
    if said.journalBytes != tree.journalBytes {
      run.complain("\(said.journalBytes) bytes of journal, \(tree.journalBytes) in the tree")
    }
    let there = tree.allocatedBytes + tree.journalBytes
    if said.allocatedBytes != there {
      run.complain("\(said.allocatedBytes) bytes allocated, \(there) in the tree")
    }
    if let most = limits.entries, said.entries > most { run.complain("too many entries") }
    if let most = limits.bytes, limits.accounting == .allocated, said.allocatedBytes > most {
      run.complain("\(said.allocatedBytes) bytes allocated, the limit is \(most)")
    }
  }

  /// No bytes on the disk are more than the limits count.
  private func checkCounted(_ store: Store, _ volume: SimulatedVolume, _ run: CrashRun) {
    let tree = CrashTree(volume)
    let there = tree.allocatedBytes + tree.journalBytes
    let counted = store.statistics.allocatedBytes
    if there > counted { run.complain("\(there) bytes in the tree, \(counted) are counted") }
    for (directory, names) in tree.keys where !names.contains("json") {
      run.complain("\(directory) has \(names)")
    }
  }

  /// Nothing is left but what belongs to entries.
  private func checkLeftovers(_ volume: SimulatedVolume, _ run: CrashRun) {
    let tree = CrashTree(volume)
    // What was evicted, or half removed, may be back without its body after a power cut.
    for path in tree.foreign where !(hasLostPower && path.hasPrefix("quarantine/")) {
      run.complain("\(path) is left")
    }
    for (directory, names) in tree.keys where names != tree.expected(directory) {
      run.complain("\(directory) has \(names)")
    }
  }
}

/// What stands in the tree of a store, sorted by what it is.
struct CrashTree {
  var metadata: [FileStatus] = []
  var bodies: [FileStatus] = []
  var segments: [FileStatus] = []
  /// The directories of keys, with the extensions of what is in them.
  var keys: [String: [String]] = [:]
  /// The bytes of the bodies that are in metadata files, and the directories with them.
  var embeddedBytes: UInt64 = 0
  private var embedding: Set<String> = []

  /// The extensions of what should be in the directory of a key that has one entry.
  func expected(_ directory: String) -> [String] {
    embedding.contains(directory) ? ["json"] : ["body", "json"]
  }
  /// What belongs to nothing.
  var foreign: [String] = []

  /// The bytes of the journal. A segment at the end that has only its header was left by a crash, and
  /// the next one to be begun replaces it.
  var journalBytes: UInt64 {
    let begun = segments.last?.length == 64 ? segments.dropLast() : segments[...]
    return begun.reduce(0) { $0 + $1.length }
  }

  /// The bytes of distinct bodies, metadata files and their directories, in blocks.
  var allocatedBytes: UInt64 {
    let block: UInt64 = 4096
    func blocks(_ file: FileStatus) -> UInt64 { (file.length + block - 1) / block * block }
    let distinct = Dictionary(bodies.map { ($0.fileNumber, $0) }, uniquingKeysWith: { a, _ in a })
    return distinct.values.reduce(0) { $0 + blocks($1) }
      + metadata.reduce(0) { $0 + blocks($1) + block }
  }

  init(_ volume: SimulatedVolume) {
    let tops: Set<String> = [
      "store.json", "CACHEDIR.TAG", "lock", "journal", "entries", "staging", "quarantine",
    ]
    for (path, status) in volume.tree.sorted(by: { $0.key < $1.key }) {
      let parts = path.split(separator: "/").dropFirst().map(String.init)
      switch (parts.first, parts.count) {
      case (nil, _): break
      case (let top?, 1) where tops.contains(top): break
      case ("journal", 2) where parts[1].hasSuffix(".log"): segments.append(status)
      // A failed sync counts until the machine restarts, and full durability from its first use on.
      case ("journal", 2) where ["unsynced", "durable"].contains(parts[1]): break
      case ("entries", 2): break
      case ("entries", 3): keys[path] = []
      case ("entries", 4):
        let suffix = String(path.split(separator: ".").last ?? "")
        let directory = path.split(separator: "/").dropLast().joined(separator: "/")
        keys[directory, default: []].append(suffix)
        if suffix == "json" { metadata.append(status) } else { bodies.append(status) }
        if suffix == "json", let bytes = volume.contents(of: path),
          let body = (try? MetadataDocument(decoding: bytes))?.body
        {
          embedding.insert(directory)
          embeddedBytes += UInt64(body.count)
        }
      default: foreign.append(parts.joined(separator: "/"))
      }
    }
    for key in keys.keys { keys[key]?.sort() }
  }
}

extension CrashLedger {
  /// The same, to be held against another opening.
  var withoutComplaints: CrashLedger {
    var ledger = self
    ledger.forgetComplaints()
    return ledger
  }
}
