import CacheFormat
import CacheStore
import CacheSystem
import Synchronization
import TestSupport
import Testing

/// Random operations by four threads, held against dictionaries.
///
/// Each thread has keys of its own, of which it knows what the store must say; all share a range of
/// keys in which every body must be a genuine one of its key.
@Suite struct ModelTests {
  static let seeds: [UInt64] = TestScale.isFull ? Array(1...10) : [1, 2, 3]
  static let threads = 4

  @Test(arguments: ModelTests.seeds)
  func `the store says what a dictionary says`(seed: UInt64) throws {
    print("model seed \(seed)")
    let sandbox = StoreSandbox()
    let operations = TestScale.operations / Self.seeds.count / Self.threads
    var models = (0..<Self.threads).map { ModelThread(seed: seed &* 100 + UInt64($0), number: $0) }
    // Closed and opened again a few times, with and without a memory tier.
    let epochs = 4
    for epoch in 0..<epochs {
      let options = Options(memoryBytes: epoch % 2 == 0 ? 0 : 4 << 20)
      // On odd epochs half of the threads use an instance of their own.
      let first = try sandbox.open(options)
      let second = epoch % 2 == 0 ? first : try sandbox.open(options)
      let results = Monitor<[Int: ModelThread]>([:])
      for (number, model) in models.enumerated() {
        let store = number % 2 == 0 ? first : second
        try startThread {
          var model = model
          for _ in 0..<(operations / epochs) { model.step(store) }
          let end = model
          results.change { $0[number] = end }
        }
      }
      models = results.wait {
        $0.count == Self.threads ? $0.sorted { $0.key < $1.key }.map(\.value) : nil
      }
      #expect(models.flatMap(\.failures).prefix(5) == [], "seed \(seed), epoch \(epoch)")
      #expect(models.reduce(0) { $0 + $1.shared } > 0 && models.allSatisfy { $0.hits > 0 })
      first.close()
      second.close()
      if models.contains(where: { !$0.failures.isEmpty }) { return }
    }
    try checkEnd(sandbox, models, seed)
  }

  private func checkEnd(_ sandbox: StoreSandbox, _ models: [ModelThread], _ seed: UInt64) throws {
    let store = try sandbox.open()
    var expected: [ByteString: ModelThread.Value] = [:]
    for model in models { expected.merge(model.known) { first, _ in first } }
    let found = store.entries().filter { !$0.key.hasPrefix("shared") }
    #expect(found.count == expected.count, "seed \(seed)")
    for info in found {
      #expect(expected[info.key]?.matches(info) == true, "seed \(seed), \(info.key)")
    }
    for (key, value) in expected {
      #expect(store.lookUp(key).entry?.body == value.body, "seed \(seed), \(key)")
    }
    #expect(store.statistics.damagedMisses == 0)
    #expect(store.statistics.journalDamages == 0)
    #expect(sandbox.metadataFiles.count == store.statistics.entries)
    #expect(sandbox.quarantined == [])
  }
}

/// One thread's operations and what it knows.
struct ModelThread: Sendable {
  struct Value: Sendable {
    var body: [UInt8]
    var status: Int?
    var isPinned = false

    func matches(_ info: EntryInfo) -> Bool {
      info.length == UInt64(body.count) && info.status == status && info.isPinned == isPinned
        && info.digest == Digest(hashing: body)
    }
  }

  var known: [ByteString: Value] = [:]
  var failures: [String] = []
  var hits = 0
  var shared = 0
  private var random: SplitMix64
  private let number: Int

  init(seed: UInt64, number: Int) {
    random = SplitMix64(seed: seed)
    self.number = number
  }

  mutating func step(_ store: Store) {
    if random.next() % 8 == 0 {
      shareStep(store)
    } else {
      ownStep(store)
    }
  }

  private mutating func ownStep(_ store: Store) {
    let key = ByteString("own\(number)/\(random.next() % 150)")
    do throws(StoreError) {
      switch random.next() % 20 {
      case 0...4: try put(store, key)
      case 5: try write(store, key)
      case 6: try remove(store, key)
      case 7: try update(store, key)
      case 8: try pin(store, key)
      case 9: check(key, store.info(for: key))
      default: lookUp(store, key)
      }
    } catch { failures.append("\(key): \(error)") }
  }

  /// Bodies of which some are equal over all threads.
  private mutating func body() -> [UInt8] {
    let seed = random.next() % 3 == 0 ? random.next() % 20 : random.next()
    return TestBody.make(Int(seed % 400), seed: seed)
  }

  private mutating func put(_ store: Store, _ key: ByteString) throws(StoreError) {
    let (body, status) = (body(), Int(random.next() % 1000))
    try store.put(body, for: key, metadata: EntryMetadata(status: status))
    known[key] = Value(body: body, status: status, isPinned: known[key]?.isPinned ?? false)
  }

  private mutating func write(_ store: Store, _ key: ByteString) throws(StoreError) {
    let body = body()
    let writer = try store.makeWriter(for: key)
    try writer.write(Array(body.prefix(100)))
    if random.next() % 4 == 0 { return }
    try writer.write(Array(body.dropFirst(100)))
    try writer.commit()
    known[key] = Value(body: body, isPinned: known[key]?.isPinned ?? false)
  }

  private mutating func remove(_ store: Store, _ key: ByteString) throws(StoreError) {
    let count = try store.remove(key)
    if count != (known[key] == nil ? 0 : 1) { failures.append("\(key): \(count) removed") }
    known[key] = nil
  }

  private mutating func update(_ store: Store, _ key: ByteString) throws(StoreError) {
    let status = Int(random.next() % 1000)
    let isThere = try store.update(key) { $0.status = status }
    if isThere != (known[key] != nil) { failures.append("\(key): update says \(isThere)") }
    known[key]?.status = status
  }

  private mutating func pin(_ store: Store, _ key: ByteString) throws(StoreError) {
    let isPinned = random.next() % 2 == 0
    let isThere = isPinned ? try store.pin(key) : try store.unpin(key)
    if isThere != (known[key] != nil) { failures.append("\(key): pin says \(isThere)") }
    known[key]?.isPinned = isPinned
  }

  private mutating func lookUp(_ store: Store, _ key: ByteString) {
    switch store.lookUp(key) {
    case .hit(let entry):
      hits += 1
      if entry.body != known[key]?.body { failures.append("\(key): wrong body") }
      check(key, entry.info)
    case .miss(let reason):
      if reason != .absent || known[key] != nil { failures.append("\(key): miss, \(reason)") }
    }
  }

  private mutating func check(_ key: ByteString, _ info: EntryInfo?) {
    switch (known[key], info) {
    case (nil, nil): break
    case (let value?, let info?):
      if !value.matches(info) || info.key != key { failures.append("\(key): wrong metadata") }
    default: failures.append("\(key): \(info == nil ? "lost" : "never stored")")
    }
  }

  /// A key that all threads write to: whoever reads it must find a body that was made for it.
  private mutating func shareStep(_ store: Store) {
    let key = ByteString("shared\(random.next() % 10)")
    do throws(StoreError) {
      switch random.next() % 6 {
      case 0, 1:
        let seed = random.next() % 1_000
        try store.put(
          key.bytes + [0] + TestBody.make(Int(seed), seed: seed), for: key,
          metadata: EntryMetadata(status: Int(seed)))
      case 2: try store.remove(key)
      default:
        switch store.lookUp(key) {
        case .hit(let entry):
          shared += 1
          let seed = UInt64(entry.info.status ?? 0)
          if entry.body != key.bytes + [0] + TestBody.make(Int(seed), seed: seed) {
            failures.append("\(key): a body that was never stored")
          }
        case .miss(.absent): break
        case .miss(let reason): failures.append("\(key): miss, \(reason)")
        }
      }
    } catch { failures.append("\(key): \(error)") }
  }
}
