import CacheFormat
import CacheStore
import Testing

/// A short history of a store with each kind of change, and what it has to hold afterwards.
struct JournalScript {
  static let kept: [(key: ByteString, body: [UInt8])] = [
    ("a", [2, 2, 2]), ("b", Array("shared".utf8)), ("d", Array("shared".utf8)), ("e", []),
  ]
  static let gone: [ByteString] = ["c", "z"]
  static let tag: ByteString = "amended"

  /// Makes the store and closes it.
  static func run(
    in folder: JournalFolder, _ durability: Durability = .process
  ) throws {
    let store = try folder.open(Options(durability: durability))
    try store.put([0], for: "z")
    try store.removeAll()
    try store.put([1], for: "a")
    try store.put(Array("shared".utf8), for: "b")
    try store.put([3], for: "c")
    try store.put([2, 2, 2], for: "a")
    try store.remove("c")
    try store.update("b") { $0.tags = [tag] }
    try store.put(Array("shared".utf8), for: "d")
    _ = store.lookUp("a")
    try store.flush()
    try store.put([], for: "e")
    store.waitUntilIdle()
    store.close()
  }

  /// Checks that a store holds what it has to hold, and nothing else.
  static func check(_ store: Store, _ note: String) {
    for (key, body) in kept {
      guard case .hit(let entry) = store.lookUp(key) else {
        Issue.record("\(key) is lost; \(note)")
        continue
      }
      #expect(entry.body == body, "\(key); \(note)")
    }
    #expect(store.info(for: "b")?.tags == [tag], "the change of b is lost; \(note)")
    for key in gone { #expect(!store.contains(key), "\(key) came back; \(note)") }
    #expect(store.statistics.entries == kept.count, "\(note)")
  }

  /// Opens a damaged store twice: at first it is put right, then it has to be whole.
  static func checkHealing(_ folder: JournalFolder, _ note: String) throws {
    let store = try folder.open()
    store.waitUntilIdle()
    check(store, note)
    #expect(store.statistics.isComplete, "\(note)")
    try store.put([9], for: "new")
    try store.remove("new")
    store.close()
    let again = try folder.open()
    check(again, "opened again; \(note)")
    #expect(again.statistics.journalDamages == 0, "still damaged; \(note)")
    again.close()
  }
}
