import CacheFormat
import CacheStore
import CacheSystem
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Prints a line and ends the process.
func stop(_ code: Int32, _ line: String) -> Never {
  say(line)
  exit(code)
}

/// Writes a line with one write(2), so that a kill never leaves half of it.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  // Safety: the array outlives the call.
  _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
}

/// Bodies that can be told from any other: made of their key and a number.
enum ProbeBody {
  static func make(_ key: String, _ version: Int) -> [UInt8] {
    var state = Digest(hashing: Array("\(key) \(version)".utf8)).low | 1
    let count = [10, 700, 5_000, 20_000, 0, 4_096, 66_000][version % 7] + version % 100
    var body = Array("\(key) \(version)\n".utf8)
    body.reserveCapacity(body.count + count)
    for _ in 0..<count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      body.append(UInt8(truncatingIfNeeded: state >> 56))
    }
    return body
  }

  /// Whether a body is one that was made for this key.
  static func isGenuine(_ body: [UInt8], for key: String) -> Bool {
    guard let end = body.firstIndex(of: 10) else { return false }
    let words = String(decoding: body[..<end], as: UTF8.self).split(separator: " ")
    guard words.count == 2, words[0] == key, let version = Int(words[1]) else { return false }
    return body == make(key, version)
  }
}

/// The verbs.
struct Probe: Sendable {
  let path: String
  let isFull: Bool

  func open() -> Store {
    do {
      // What was promised must stay, also when the disk is full.
      return try Store(
        at: path,
        options: Options(durability: isFull ? .full : .process, evictsOnFullDisk: false))
    } catch {
      stop(3, "ERR open \(error)")
    }
  }

  /// Stores, replaces and removes, each announced and promised.
  func workload(count: Int, seed: Int, threads: Int) {
    let store = open()
    let failures = Atomic<Int>(0)
    let running = Monitor(threads)
    for thread in 0..<threads {
      start {
        for step in stride(from: thread, to: count, by: threads) {
          if !change(store, step, seed, keys: max(1, count * 2 / 3)) {
            failures.add(1, ordering: .relaxed)
          }
        }
        running.change { $0 -= 1 }
      }
    }
    running.wait { $0 == 0 ? () : nil }
    store.close()
    exit(failures.load(ordering: .relaxed) > 0 ? 4 : 0)
  }

  private func start(_ body: @escaping @Sendable () -> Void) {
    do { try startThread(body) } catch { stop(4, "ERR thread \(error)") }
  }

  /// What the keys begin with, so that processes on one store can have keys of their own.
  private static let prefix =
    unsafe getenv("STOREPROBE_PREFIX").map { unsafe String(cString: $0) } ?? ""

  /// One thread at a time changes a key, so that the lines tell the order of the changes.
  private static let turns = Mutex<Set<String>>([])

  private func change(_ store: Store, _ step: Int, _ seed: Int, keys: Int) -> Bool {
    let key = Self.prefix + "key\(step % keys)"
    while !Self.turns.withLock({ $0.insert(key).inserted }) { sched_yield() }
    defer { Self.turns.withLock { _ = $0.remove(key) } }
    do {
      if step % 7 == 6 {
        say("TRY D \(key)")
        try store.remove(ByteString(key))
        say("ACK D \(key)")
      } else {
        // Every third one has the bytes of the one before, so that bodies are shared.
        let body = ProbeBody.make(key, seed &* 1000 &+ step)
        let digest = Digest(hashing: body)
        say("TRY P \(key) \(digest)")
        if step % 5 == 4 {
          let writer = try store.makeWriter(for: ByteString(key))
          try writer.write(Array(body[..<(body.count / 2)]))
          try writer.write(Array(body[(body.count / 2)...]))
          try writer.commit()
        } else {
          try store.put(body, for: ByteString(key))
        }
        say("ACK P \(key) \(digest)")
      }
      return true
    } catch {
      say("ERR \(key) \(error)")
      return false
    }
  }

  /// Stores and reads keys that other processes store and read, too.
  func hammer(seconds: Int, seed: Int) {
    let store = open()
    var random = SplitMix(state: UInt64(seed))
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

  /// Holds the store against what was announced and promised.
  func verify(acks path: String?, mayLose: Bool) {
    let store = open()
    let promises = Promises(path)
    var failures: [String] = []
    for (key, allowed) in promises.allowed {
      let found: String?
      switch store.lookUp(ByteString(key)) {
      case .hit(let entry):
        found = Digest(hashing: entry.body).description
        if !ProbeBody.isGenuine(entry.body, for: key) { failures.append("\(key): foreign bytes") }
      case .miss: found = nil
      }
      if !allowed.contains(found), !(mayLose && found == nil) {
        failures.append("\(key): found \(found ?? "nothing")")
      }
    }
    for info in store.entries() where promises.allowed[info.key.description] == nil && path != nil {
      if info.key != "probe" { failures.append("\(info.key): never stored") }
    }
    do {
      try store.put([1, 2, 3], for: "probe")
      if store.lookUp("probe").entry?.body != [1, 2, 3] { failures.append("a new write is lost") }
    } catch { failures.append("a new write fails: \(error)") }
    store.waitUntilIdle()
    store.close()
    if failures.isEmpty { stop(0, "OK \(promises.allowed.count) keys") }
    stop(1, "FAIL \(failures.count): " + failures.prefix(4).joined(separator: "; "))
  }
}

/// What the lines of a workload allow: for each key the last promise, or what was tried after it.
struct Promises {
  var allowed: [String: [String?]] = [:]

  init(_ path: String?) {
    guard let path, let file = unsafe fopen(path, "r") else { return }
    defer { unsafe _ = fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    while unsafe getline(&line, &capacity, file) > 0, let text = unsafe line {
      let words = unsafe String(cString: text).split(whereSeparator: \.isWhitespace)
      guard words.count >= 3 else { continue }
      let key = String(words[2])
      let value = words[1] == "P" && words.count > 3 ? String(words[3]) : nil
      if words[0] == "ACK" { allowed[key] = [value] }
      if words[0] == "TRY" { allowed[key, default: [nil]].append(value) }
    }
    unsafe free(line)
  }
}

/// A small generator with a seed (Steele, Lea, Flood 2014).
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
