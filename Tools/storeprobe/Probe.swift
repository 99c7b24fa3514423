import CacheFormat
import CacheStore
import CacheSystem
import TestSupport

struct Probe: Sendable {
  let path: String
  let isFull: Bool

  /// - Parameter evicts: whether a full disk may evict. What is promised must stay, so only where
  ///   the workload has announced that limits evict.
  func open(evicts: Bool = false) -> Store {
    var options = Options(
      durability: isFull ? .full : .process, settling: Self.settling, evictsOnFullDisk: evicts,
      fileSystem: PlantedBug.fileSystem)
    let boot = environment("STOREPROBE_BOOT")
    if !boot.isEmpty { options.bootName = Array(boot.utf8) }
    // A short log, so that its segments are dropped during the run.
    if options.settling != .atOnce { options.journal = JournalSizes(logBytes: 64 << 10) }
    do {
      return try Store(at: path, options: options)
    } catch {
      stop(3, "ERR open \(error)")
    }
  }

  /// The number of seconds in STOREPROBE_SETTLING; `atOnce` without one.
  static let settling =
    Int(environment("STOREPROBE_SETTLING")).map { Settling.within(seconds: $0) }
    ?? .atOnce

  /// Stores and reads keys that other processes store and read, too.
  func hammer(seconds: Int, seed: Int) {
    let store = open()
    var random = SplitMix64(seed: UInt64(seed))
    var (hits, misses, stores, damaged) = (0, 0, 0, 0)
    let end = SystemClock().now() + Int64(seconds) * 1_000_000_000
    while SystemClock().now() < end {
      let key = "key\(random.next() % 200)"
      switch random.next() % 10 {
      case 0...2:
        do {
          try store.put(ProbeBody.make(key, Int(random.next() % 1_000_000)), for: ByteString(key))
          stores += 1
        } catch { stop(4, "ERR \(key) \(error)") }
      case 3:
        do { try store.remove(ByteString(key)) } catch { stop(4, "ERR \(key) \(error)") }
      default:
        switch store.lookUp(ByteString(key)) {
        case .hit(let entry):
          hits += 1
          if !ProbeBody.isGenuine(entry.body, for: key) { stop(1, "WRONG \(key)") }
        case .miss(.absent): misses += 1
        case .miss: damaged += 1
        }
      }
    }
    store.close()
    if damaged > 0 { stop(1, "DAMAGED \(damaged)") }
    say("OK \(hits) hits, \(misses) misses, \(stores) stores")
  }
}
