import CacheStore
import CacheSystem

@testable import CacheFormat

/// Opens a store whose journal is the input: one segment, raw, or with all its checksums put right.
func fuzzJournal(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  let folder = FuzzFolder()
  for item in JournalStory.store { folder.make(item) }
  folder.make(.init(path: JournalStory.segmentPath, bytes: isSealed ? resealed(rest) : rest))
  guard let store = opened(folder) else { return }
  let isDamaged = store.statistics.journalDamages > 0 || !store.statistics.isComplete
  store.waitUntilIdle()
  for (key, body) in JournalStory.kept {
    guard case .hit(let entry) = store.lookUp(key) else {
      require(isSealed || !isDamaged, "damage of the journal costs no entry")
      continue
    }
    // With the secret seed a journal may say what it likes, but not make bytes.
    let bodies = isSealed ? JournalStory.kept.map(\.body) : [body]
    require(bodies.contains(entry.body), "never a wrong byte")
  }
  store.waitUntilIdle()
  let entries = store.statistics.entries
  store.close()
  guard let again = opened(folder) else { fatalError("what could be opened can be opened again") }
  // What is forged may need more than one look at the tree.
  require(isSealed || again.statistics.journalDamages == 0, "damage is mended once")
  require(isSealed || again.statistics.entries == entries, "opening again changes nothing")
  again.waitUntilIdle()
  again.close()
}

/// Opens the store; nil if a newer version seems to have written it, which is no damage.
private func opened(_ folder: FuzzFolder) -> Store? {
  do throws(StoreError) {
    return try Store(at: folder.path, options: JournalStory.options)
  } catch {
    require(error.code == .newerFormat, "damage is no error: \(error)")
    return nil
  }
}

/// Puts the checksum of the header, and those of all that look like records, right.
private func resealed(_ segment: [UInt8]) -> [UInt8] {
  var bytes = segment
  guard bytes.count >= SegmentHeader.count else { return bytes }
  bytes.set(Checksum.of(Array(bytes.prefix(56))), at: 56)
  var place = SegmentHeader.count
  while place + RecordFrame.headerCount <= bytes.count {
    var words = RecordCursor(bytes, from: place + 8, to: bytes.count)
    let (magic, stated) = (words.number(UInt32.self), Int(words.number(UInt32.self) ?? 0))
    guard magic == RecordFrame.magic, stated >= RecordFrame.headerCount,
      stated % RecordFrame.alignment == 0, stated <= bytes.count - place
    else {
      place += RecordFrame.alignment
      continue
    }
    let record = Array(bytes[place + 8..<place + stated])
    bytes.set(Checksum.of(record, seed: FuzzStore.seed(at: place)), at: place)
    place += stated
  }
  return bytes
}

/// A store with a short history, the same each time but for the numbers of its files.
enum JournalStory {
  static let kept: [(key: ByteString, body: [UInt8])] = [
    ("a", [2, 2, 2]), ("b", Array("shared".utf8)), ("d", Array("shared".utf8)), ("e", []),
  ]
  static let segmentPath = Array("journal/00000001.log".utf8)
  static let options = Options(clock: StoppedClock())

  /// All of the store but its journal.
  static var store: [FuzzFolder.Item] { whole.filter { $0.path != segmentPath } }

  /// The journal.
  static var segment: [UInt8] { whole.first { $0.path == segmentPath }?.bytes ?? [] }

  private static let whole: [FuzzFolder.Item] = {
    let folder = FuzzFolder()
    folder.make(.init(path: Array("store.json".utf8), bytes: FuzzStore.description.encoded()))
    do throws(StoreError) {
      try write(try Store(at: folder.path, options: options))
    } catch {
      fatalError("\(error)")
    }
    return folder.items()
  }()

  private static func write(_ store: Store) throws(StoreError) {
    try store.put([0], for: "z")
    try store.removeAll()
    try store.put([1], for: "a")
    try store.put(Array("shared".utf8), for: "b")
    try store.put([3], for: "c")
    try store.put([2, 2, 2], for: "a")
    try store.remove("c")
    try store.update("b") { $0.tags = ["amended"] }
    try store.put(Array("shared".utf8), for: "d")
    _ = store.lookUp("a")
    try store.flush()
    try store.put([], for: "e")
    store.waitUntilIdle()
    store.close()
  }
}

/// A clock that shows one time.
private struct StoppedClock: WallClock {
  func now() -> Int64 { FuzzStore.now }
}
