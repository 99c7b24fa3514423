import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import TestSupport
import Testing

/// Where the files of one entry stand, and what they hold.
struct EntryFiles {
  var place: RepairModel.Place
  var metadata: String
  var metadataBytes: [UInt8]
  /// The path of the body; `nil` if the metadata file has it.
  var body: String?

  /// The files of all entries of a model.
  static func all(_ sandbox: CheckSandbox, _ model: RepairModel) throws -> [EntryFiles] {
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true))
    defer { store.close() }
    return try model.bodies.map { place, body in
      let hash = KeyHash(hashing: place.key, seed: store.hashSeed)
      let directory = "entries/\(hash.shardName)/\(hash.directoryName)"
      let digits = String(place.variant, radix: 16)
      let name = String(repeating: "0", count: 16 - digits.count) + digits + ".json"
      let bytes = try sandbox.bytes("\(directory)/\(name)")
      let isEmbedded = try MetadataDocument(decoding: bytes).body != nil
      return EntryFiles(
        place: place, metadata: "\(directory)/\(name)", metadataBytes: bytes,
        body: isEmbedded ? nil : "\(directory)/\(Digest(hashing: body)).body")
    }
  }

  /// Whether the entry must be there after a repair: its body is as it was, if it has a file, and so is
  /// its metadata file or the journal.
  func mustSurvive(_ sandbox: CheckSandbox, _ bytes: [UInt8], isJournalIntact: Bool) -> Bool {
    (body.map { sandbox.holds($0, bytes) } ?? true)
      && (isJournalIntact || sandbox.holds(metadata, metadataBytes))
  }
}

extension CheckSandbox {
  /// Whether a regular file, reached without links, holds just these bytes.
  func holds(_ name: String, _ bytes: [UInt8]) -> Bool {
    guard let directory = try? RealFileSystem().open(userPath: root, [.read, .directory]),
      let path = PathName(bytes: Array(name.utf8)),
      let found = try? RealFileSystem().readFile(path, in: directory, limit: 1 << 20)
    else { return false }
    return found == bytes
  }
}

@Suite(.serialized) struct RandomDamageTests {
  /// How many seeds there are; more for a long run.
  private static let seeds: Int =
    unsafe getenv("OFFLINECACHE_REPAIR_SEEDS").flatMap { unsafe Int(String(cString: $0)) } ?? 200

  @Test("after any damage, a repair leaves a clean store with all that was not damaged")
  func random() throws {
    for seed in 0..<Self.seeds {
      do { try damage(UInt64(seed), seed / 17 % 2 == 0 ? .atOnce : .within(seconds: 60)) } catch {
        Issue.record(error, "seed \(seed)")
      }
    }
  }

  private func damage(_ seed: UInt64, _ settling: Settling) throws {
    var random = SplitMix64(seed: seed)
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel(seed: seed, settling: settling)
    let files = try EntryFiles.all(sandbox, model)
    let segment = try sandbox.bytes("journal/00000001.log")
    try sandbox.write("../canary", [42])
    var (done, kinds): ([String], [RandomDamage]) = ([], [])
    var forgotten: [String] = []
    var replacesBodies = false
    for round in 0..<(1 + seed / 100) {
      let place = (seed + round * 17) % UInt64(RandomDamage.allCases.count)
      let damage = RandomDamage.allCases[Int(place)]
      kinds.append(damage)
      do {
        if let target = try damage.apply(sandbox, &random) {
          done.append("\(damage) \(target)")
          if damage == .forgetKey { forgotten.append(target) }
          // A body with the name of another one is overwritten by that; an older version is replaced.
          if [.swap, .swapSameKind, .misplaceNewer].contains(damage) { replacesBodies = true }
        }
      } catch is Refusal, is SystemError, is StoreError {
        // An earlier round has put a link, say, where this one wants a file.
        done.append("\(damage) in part")
      }
    }
    let isIntact = sandbox.holds("journal/00000001.log", segment)
    let survivors = files.filter { file in
      file.mustSurvive(sandbox, model.bodies[file.place] ?? [], isJournalIntact: isIntact)
        && !forgotten.contains { file.metadata.hasPrefix("\($0)/") }
    }
    let words = "seed \(seed): \(done.joined(separator: ", "))"
    if seed % 2 == 1 {
      try repairSafely(
        sandbox, words, replacesBodies: replacesBodies, isSettled: settling == .atOnce)
    }
    let repaired = try sandbox.repair()
    // What lies deeper than is searched stays.
    let left: Set<FindingKind> = kinds.contains(.deep) ? [.foreignFile] : []
    #expect(left.isSuperset(of: repaired.unrepaired.map(\.kind)), "\(words)")
    #expect(left.isSuperset(of: try sandbox.check(.deep).kinds), "\(words)")
    let kept = try sandbox.kept(model)
    if kinds.allSatisfy(\.keepsAll) { #expect(kept == model.all, "\(words)") }
    for entry in survivors { #expect(kept.contains(entry.place), "\(words): \(entry.place)") }
    #expect(try sandbox.bytes("../canary") == [42], "\(words)")
  }

  /// Checks that a safe repair gives up no entry and deletes no body.
  private func repairSafely(
    _ sandbox: CheckSandbox, _ words: String, replacesBodies: Bool, isSettled: Bool
  ) throws {
    let bodies = sandbox.wholeBodies(below: "entries")
    let count = sandbox.entryCount
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.report.lostEntries == 0, "\(words), safe")
    if !replacesBodies {
      let gone = bodies.subtracting(sandbox.wholeBodies(below: ""))
      #expect(gone == [], "\(words), safe")
    }
    if isSettled { #expect(sandbox.entryCount >= count, "\(words), safe") }
  }
}

extension CheckSandbox {
  /// The digests of the body files that have the right bytes. A second name in the quarantine counts.
  fileprivate func wholeBodies(below path: String) -> Set<String> {
    let paths = (try? allFiles(path)) ?? []
    return Set(
      paths.compactMap { path in
        guard path.hasSuffix(".body"), let bytes = try? bytes(path) else { return nil }
        let name = String(path.split(separator: "/").last!.dropLast(5))
        return Digest(hashing: bytes).description == name ? name : nil
      })
  }

  /// The number of entries that a look at the store finds in its journal.
  fileprivate var entryCount: Int {
    guard let store = try? Store(at: root, options: Options(isReadOnly: true)) else { return 0 }
    defer { store.close() }
    return store.statistics.entries
  }
}
