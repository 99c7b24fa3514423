import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import TestSupport

final class Life {
  struct Program {
    var process: SimulatedProcess
    var store: Store
  }

  let seed: UInt64
  let use: Use
  let settling: Settling
  let volume = SimulatedVolume()
  let clock = LifeClock()
  var oracle: Oracle
  var random: SplitMix64
  var programs: [Program] = []
  var active = 0
  var findings: [String] = []
  var bodies = BodyPool()
  private var stepCount = 0
  private var crashCount = 0
  var evictionCount = 0
  var historyCount = 0
  /// The most bytes of bodies in the journal: few, so that its segments are often dropped.
  private static let logBytes: Int64 = 64 << 10
  private static let maximumFindings = 20

  init(seed: UInt64, settling: Settling) {
    self.seed = seed
    self.settling = settling
    use = Use.all[Int(seed % UInt64(Use.all.count))]
    oracle = Oracle(limits: use.limits, logBytes: settling == .atOnce ? 0 : Self.logBytes)
    random = SplitMix64(seed: seed)
    for number in 0..<use.processes {
      programs.append(open(limits: number == 0 ? use.limits : nil))
    }
  }

  var summary: String {
    "seed \(seed), \(use.name), settling \(settling.seconds): \(stepCount) steps, "
      + "\(evictionCount) evictions, \(crashCount) crashes, \(historyCount) from history, "
      + "\(findings.count) findings"
  }

  var store: Store { programs[active].store }

  func open(limits: Limits? = nil) -> Program {
    let process = SimulatedProcess(on: volume)
    do {
      var options = Options(limits: limits, clock: clock, fileSystem: process)
      options.memoryBytes = use.name == "all of it" ? 1 << 20 : 0
      options.settling = settling
      if settling != .atOnce { options.journal = JournalSizes(logBytes: Self.logBytes) }
      return Program(process: process, store: try Store(at: "/store", options: options))
    } catch {
      say("seed \(seed): the store does not open: \(error)", to: .error)
      end(1)
    }
  }

  func complain(_ text: String) {
    findings.append(text)
    say("seed \(seed), step \(stepCount), \(use.name): \(text)", to: .error)
  }

  func run(steps: Int) {
    for number in 1...steps where findings.count < Self.maximumFindings {
      stepCount = number
      let step = use.step(&random)
      take(step)
      if ![.read, .stream, .offline, .online].contains(step) { checkNumbers() }
      if number % 100 == 0 { checkRoom() }
      if number % 2_000 == 0 {
        checkPlace()
        volume.settle()
      }
    }
    finish()
  }

  private func take(_ step: Step) {
    switch step {
    case .read, .stream: read(step)
    case .offline: browseOffline()
    case .online: browseOnline()
    case .flush, .wait:
      if step == .wait { clock.move(seconds: Int64(random.below(200_000))) }
      flush()
    case .clockBack: clock.move(seconds: -Int64(random.below(7_200)))
    case .reopen:
      store.close()
      programs[active] = open()
    case .switchProcess:
      // The other program reads the accesses of this one after a second.
      flush()
      active = (active + 1) % programs.count
    case .crash:
      crashCount += 1
      crash()
      writeFiles()
    case .trim:
      let bytes = oracle.used(isHeld: true) / 10 * UInt64(6 + random.below(4))
      attempt("trim") { () throws(StoreError) in try store.trim(toBytes: bytes) }
      oracle.trim(to: bytes)
      settle()
    case .limit: changeLimits()
    default:
      change(step)
      settle()
    }
  }

  /// Waits until the background thread has no more work, and often also until all entries have
  /// files.
  func settle() {
    if settling != .atOnce, random.below(4) == 0 { writeFiles() }
    store.waitUntilIdle()
  }

  /// Writes the files of all entries that only the journal has.
  func writeFiles() {
    attempt("settle") { () throws(StoreError) in try store.settle() }
  }

  /// Writes the accesses to the journal, as the background thread does after a second.
  private func flush() {
    attempt("flush") { () throws(StoreError) in try store.flush() }
    settle()
  }

  func attempt(_ what: String, _ body: () throws(StoreError) -> some Any) {
    do throws(StoreError) { _ = try body() } catch { complain("\(what) fails: \(error)") }
  }

  func key(_ number: Int) -> ByteString { ByteString("GET https://example.org/\(number)/page") }

  /// A key; the first ones are requested more often.
  func anyKey() -> ByteString {
    key(min(random.below(use.keys), random.below(use.keys)))
  }

  private func read(_ step: Step) {
    let key = anyKey()
    guard step == .stream else {
      let entry = store.lookUp(key).entry
      checkRead(key, entry.map { ($0.body, $0.info) })
      return
    }
    guard case .hit(let info, let reader) = store.read(key) else { return checkRead(key, nil) }
    attempt("reading \(key)") { () throws(StoreError) in
      var bytes: [UInt8] = []
      while bytes.count < reader.length { bytes += try reader.read(upTo: 10_000) }
      checkRead(key, (bytes, info))
    }
  }

  func checkRead(_ key: ByteString, _ found: (body: [UInt8], info: EntryInfo)?) {
    guard let expected = oracle.entries[key] else {
      if found != nil { complain("\(key) is there, and should have been evicted or removed") }
      return
    }
    guard let found else { return complain("\(key) is a miss, and should be there") }
    oracle.touch(key)
    if found.body != bodies.bytes(expected.body) { complain("\(key) has wrong bytes") }
    if found.info.metadata != expected.metadata { complain("\(key) has other metadata") }
    if found.info.isPinned != expected.isPinned { complain("\(key) has another pin") }
  }

  private func changeLimits() {
    func part(_ most: UInt64?) -> UInt64? { most.map { $0 / 10 * UInt64(6 + random.below(5)) } }
    var limits = use.limits
    limits.bytes = part(limits.bytes)
    limits.entries = part(limits.entries)
    do throws(StoreError) {
      try store.setLimits(limits)
      oracle.limits = limits
      oracle.keepLimits()
    } catch {
      // More is pinned than these limits allow.
      if error.code != .invalidLimits { complain("setLimits fails: \(error)") }
    }
    settle()
  }

  // MARK: Checks

  private func checkNumbers() {
    let now = store.statistics
    let live = Int64(now.journalBytes - now.deadJournalBytes)
    if now.entries != oracle.entries.count { return compareEntries() }
    let records = oracle.entries.values.reduce(0) { $0 + $1.record }
    // Bodies in the journal that have no file are live, too.
    if now.unsettledEntries == 0 && live != records {
      complain("\(live) bytes of live records, not \(records)")
      compareMetadata()
    }
    let most = Oracle.journal(
      live: live, limit: oracle.limits.accounting == .allocated ? oracle.limits.bytes : nil)
    if Int64(now.journalBytes) > min(most, 2 * live + 1 << 20) + oracle.log {
      complain("\(now.journalBytes) bytes of journal, with \(live) live ones")
    }
    let charged = oracle.used()
    if now.chargedBytes != charged {
      complain("\(now.chargedBytes) bytes are charged, not \(charged)")
    }
    let limit = oracle.limits
    let bytes = limit.accounting == .logical ? now.logicalBytes : now.allocatedBytes
    if let most = limit.bytes, bytes > most { complain("\(bytes) bytes, the limit is \(most)") }
    if let most = limit.entries, now.entries > most { complain("\(now.entries) entries") }
  }

  /// Reports the entries that should not be there, and those that are missing; then the oracle
  /// takes the entries of the store.
  func compareEntries() {
    let there = Set(store.entries().map(name(of:)))
    for key in Set(oracle.entries.keys).subtracting(there) { complain("\(key) was lost") }
    for key in there.subtracting(oracle.entries.keys) { complain("\(key) was not evicted") }
    oracle.entries = oracle.entries.filter { there.contains($0.key) }
  }

  /// Reports the entries that differ from the oracle; then the oracle takes those of the store.
  private func compareMetadata() {
    for info in store.entries() {
      let name = name(of: info)
      guard var expected = oracle.entries[name] else { continue }
      if info.metadata != expected.metadata || info.isPinned != expected.isPinned {
        complain("\(name) has other metadata")
        expected.metadata = info.metadata
        expected.isPinned = info.isPinned
        oracle.entries[name] = sized(expected, info.key)
      }
    }
  }

  /// Compares the bytes that files and directories take with those that are counted for the entries.
  /// What another process has replaced may wait for that process.
  private func checkRoom() {
    if use.processes > 1 { return }
    // The background thread may settle entries between the looks at the files and at the numbers.
    let looks = (0..<3).map { _ in uncountedBytes() }
    if let least = looks.min(), least > 0 {
      complain("files take \(least) bytes more than are counted")
    }
  }

  /// Returns the bytes that files and directories take beyond those that are counted.
  private func uncountedBytes() -> Int64 {
    store.waitUntilIdle()
    var files: Set<UInt64> = []
    var bytes: UInt64 = 0
    for (path, status) in volume.tree
    where path.hasPrefix("store/entries/") || path.hasPrefix("store/staging/") {
      // The shards and the session count for nothing.
      let isCounted = path.utf8.count { $0 == UInt8(ascii: "/") } > 2
      if isCounted, files.insert(status.fileNumber).inserted { bytes += status.allocated }
    }
    let now = store.statistics
    let counted = now.allocatedBytes - now.journalBytes + now.unsettledBytes
    return Int64(bytes) - Int64(counted)
  }

  private func checkPlace() {
    // The files of an entry that was replaced may wait in staging until the new one has files.
    for program in programs {
      attempt("settle") { () throws(StoreError) in try program.store.settle() }
      program.store.waitUntilIdle()
    }
    for (path, status) in volume.tree where status.kind == .file {
      if path.hasPrefix("store/staging/") { complain("\(path) is left in staging") }
      if path.hasPrefix("store/quarantine/") { complain("\(path) was set aside") }
    }
  }

  /// Closes the store, and checks that it is clean and has exactly the expected entries.
  private func finish() {
    for program in programs { program.store.close() }
    let checked = SimulatedProcess(on: volume)
    var options = CheckOptions(depth: .deep, jobs: 1, clock: clock)
    options.fileSystem = checked
    let checker = StoreChecker(at: "/store", options: options)
    do {
      let report = try checker.run(FindingPrinter(self))
      if report.found > 0 { complain("a check finds \(report.found)") }
    } catch { complain("it cannot be checked: \(error)") }
    programs = [open()]
    active = 0
    compareEntries()
    for info in store.entries() {
      let entry = store.lookUp(info.key, variant: info.variant).entry
      checkRead(name(of: info), entry.map { ($0.body, $0.info) })
    }
    store.close()
  }
}

/// Returns what is wrong. A clock that was set back leaves many notes.
private struct FindingPrinter: CheckObserver {
  private let seed: UInt64

  init(_ life: Life) { seed = life.seed }

  func found(_ finding: Finding) {
    if !finding.kind.facts.isWrong { return }
    let path = ByteString(bytes: finding.path)
    say("seed \(seed), check: \(finding.kind.rawValue), \(path): \(finding.detail)", to: .error)
  }

  func progressed(_ progress: CheckProgress) {}
}

struct BodyPool {
  private var made: [BodySeed: [UInt8]] = [:]

  mutating func bytes(_ body: BodySeed) -> [UInt8] {
    if let bytes = made[body] { return bytes }
    if made.count > 1_000 { made = [:] }
    var random = SplitMix64(seed: body.seed)
    let bytes = random.bytes(body.count)
    made[body] = bytes
    return bytes
  }
}

extension Settling {
  /// The argument of lifeprobe.
  fileprivate var seconds: Int {
    switch self {
    case .within(let seconds): seconds
    case .atOnce: 0
    }
  }
}
