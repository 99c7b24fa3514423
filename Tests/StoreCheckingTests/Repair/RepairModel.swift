import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import TestSupport
import Testing

/// What was stored in a store that is going to be damaged.
struct RepairModel {
  struct Place: Hashable {
    var key: ByteString
    var variant: UInt64
  }
  var bodies: [Place: [UInt8]] = [:]

  /// Fills a store with entries of many kinds: short and long, with equal bodies, with variants, pinned.
  static func fill(_ store: Store, seed: UInt64 = 1) throws -> RepairModel {
    var random = SplitMix64(seed: seed)
    var model = RepairModel()
    func put(_ body: [UInt8], _ key: ByteString, _ variant: UInt64 = 0) throws {
      let metadata = EntryMetadata(
        status: 200, fields: [Field("content-type", "text/plain")], tags: ["tag"])
      try store.put(body, for: key, variant: variant, metadata: metadata)
      model.bodies[Place(key: key, variant: variant)] = body
    }
    for (number, count) in [0, 10, 700, 5000, 4096, 70_000, 33, 12_000].enumerated() {
      try put(random.bytes(count), ByteString("single\(number)"))
    }
    let shared = random.bytes(6000)
    for number in 0..<3 { try put(shared, ByteString("shared\(number)")) }
    let equal = random.bytes(900)
    try put(equal, "variants", 0)
    try put(equal, "variants", 1)
    try put(random.bytes(50), "variants", 2)
    try put(random.bytes(300), "replaced")
    try put(random.bytes(310), "replaced")
    try put(random.bytes(20), "removed")
    try store.remove("removed")
    model.bodies[Place(key: "removed", variant: 0)] = nil
    try store.pin("single3")
    return model
  }

  /// The entries that the store gives as they were stored; what it gives must be right.
  func kept(_ store: Store) -> Set<Place> {
    Set(
      bodies.compactMap { place, body in
        guard case .hit(let entry) = store.lookUp(place.key, variant: place.variant)
        else { return nil }
        #expect(entry.body == body, "\(place): wrong bytes")
        #expect(entry.info.fields == [Field("content-type", "text/plain")])
        return place
      })
  }

  var all: Set<Place> { Set(bodies.keys) }
}

extension CheckSandbox {
  /// Fills the store and closes it.
  func fillModel(seed: UInt64 = 1, settling: Settling = .atOnce) throws -> RepairModel {
    var model = RepairModel()
    try fill(settling: settling) { model = try RepairModel.fill($0, seed: seed) }
    return model
  }

  /// Checks, and finds out what a repair would lose.
  func forecast(
    _ depth: CheckDepth, _ level: RepairLevel = .all,
    fileSystem: any FileSystem = RealFileSystem()
  ) throws -> Checked {
    let listener = Listener()
    var options = CheckOptions(depth: depth, jobs: 1)
    options.fileSystem = fileSystem
    options.forecast = level
    let report = try StoreChecker(at: root, options: options).run(listener)
    return Checked(report: report, findings: listener.findings, progress: listener.progress)
  }

  func repair(
    _ level: RepairLevel = .all, _ depth: CheckDepth = .deep, jobs: Int = 1,
    fileSystem: any FileSystem = RealFileSystem()
  ) throws -> Checked {
    let listener = Listener()
    var options = CheckOptions(depth: depth, repair: level, jobs: jobs)
    options.fileSystem = fileSystem
    let report = try StoreChecker(at: root, options: options).run(listener)
    return Checked(report: report, findings: listener.findings, progress: listener.progress)
  }

  /// Repairs everything, and checks that nothing is left.
  func expectRepaired(
    _ level: RepairLevel = .all, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Checked {
    let repaired = try repair(level)
    #expect(repaired.unrepaired == [], sourceLocation: sourceLocation)
    #expect(repaired.report.left == 0, sourceLocation: sourceLocation)
    #expect(try check(.deep).findings == [], sourceLocation: sourceLocation)
    return repaired
  }

  /// The entries that a read-only look at the store finds.
  func kept(_ model: RepairModel) throws -> Set<RepairModel.Place> {
    let store = try Store(at: root, options: Options(isReadOnly: true, createsStore: false))
    defer { store.close() }
    return model.kept(store)
  }

  /// Moves the directory of a key out of the store, to `../away`, and lets the store give the entry up
  /// and forget it.
  ///
  /// - Returns: the path that the directory had.
  func forget(_ key: ByteString) throws -> String {
    let directory = try directory(of: key)
    try move(directory, to: "../away")
    #expect(try repair(.all).kinds == [.entryMissing])
    try fill { try $0.purge() }
    return directory
  }

  func directory(of key: ByteString) throws -> String {
    let store = try Store(at: root, options: Options(isReadOnly: true, createsStore: false))
    defer { store.close() }
    return "entries/"
      + KeyHash(hashing: key, seed: store.hashSeed).shardName + "/"
      + KeyHash(hashing: key, seed: store.hashSeed).directoryName
  }

  /// The files below a directory of the store, by their paths from its root.
  func allFiles(_ below: String = "") throws -> [String] {
    try names(below.isEmpty ? "." : below).flatMap { name -> [String] in
      let path = below.isEmpty ? name : "\(below)/\(name)"
      return (try? names(path)) == nil ? [path] : try allFiles(path)
    }
  }
}

extension Checked {
  /// What was not repaired.
  var unrepaired: [Finding] { findings.filter { $0.outcome != .repaired } }
}
