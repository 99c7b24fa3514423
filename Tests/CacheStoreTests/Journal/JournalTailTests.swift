import CacheFormat
import CacheStore
import Testing

@Suite struct JournalTailTests {
  private static let earlier: [ByteString] = ["one", "two", "three"]
  private static let last: [ByteString] = ["four", "five", "six"]

  private static func body(_ key: ByteString) -> [UInt8] { key.bytes + key.bytes }

  private static func original() throws -> JournalFolder {
    let folder = JournalFolder()
    let store = try folder.open()
    for key in earlier + last { try store.put(body(key), for: key) }
    store.close()
    return folder
  }

  /// Whether the process that wrote the journal was killed, or the file was cut by something else.
  @Test(arguments: [false, true], 0..<4)
  func `a journal cut at any byte of its last three records opens, and loses nothing before them`(
    wasKilled: Bool, part: Int
  ) throws {
    let original = try Self.original()
    let segment = try #require(original.segments.first)
    let bytes = original.bytes(segment)
    let records = original.records(in: segment)
    let start = try #require(records.dropLast(2).last)
    // An opening waits for a process that may have been killed just now, so each cut takes a second.
    let step = TestScale.sampleStep
    let first = start.offset + Int.random(in: 0..<step) * 4 + part
    for end in stride(from: first, to: bytes.count, by: step * 4) {
      let folder = try JournalFolder(copying: original)
      try folder.write(Array(bytes[..<end]), to: segment)
      if wasKilled { try folder.leaveDeadSession() }
      // A cut between two records shows nothing torn, so only a check of the tree would find it.
      let mayLose = wasKilled || records.contains { $0.offset == end }
      try Self.check(folder, mayLose: mayLose, "cut at \(end), killed: \(wasKilled)")
      if wasKilled {
        #expect(folder.keyDirectories == folder.entryCount, "an orphan is left; cut at \(end)")
      }
    }
  }

  private static func check(_ folder: JournalFolder, mayLose: Bool, _ note: String) throws {
    let store = try folder.open()
    for key in earlier { #expect(store.contains(key), "\(key); \(note)") }
    try store.put([8], for: "new")
    store.waitUntilIdle()
    // What a killed process had not yet written was not promised; otherwise the tree has it all.
    let found = last.filter { store.contains($0) }
    #expect(mayLose || found == last, "\(note)")
    store.close()
    let again = try folder.open()
    for key in earlier + found {
      #expect(again.lookUp(key).entry?.body == body(key), "\(key); \(note)")
    }
    #expect(again.lookUp("new").entry?.body == [8], "\(note)")
    #expect(again.statistics.entries == earlier.count + found.count + 1, "\(note)")
    #expect(again.statistics.journalDamages == 0, "\(note)")
    again.close()
  }

  @Test(arguments: [1, 7, 8, 31, 32, 4096, 70_000])
  func `zeros after the last record are cut off`(count: Int) throws {
    let folder = try Self.original()
    let segment = try #require(folder.segments.first)
    try folder.write(
      folder.bytes(segment) + [UInt8](repeating: 0, count: count), to: segment)
    try folder.leaveDeadSession()
    let store = try folder.open()
    #expect(store.statistics.entries == 6)
    try store.put([8], for: "new")
    store.waitUntilIdle()
    store.close()
    let again = try folder.open()
    #expect(again.statistics.entries == 7)
    #expect(again.statistics.journalDamages == 0)
    #expect(again.lookUp("new").entry?.body == [8])
    for key in Self.earlier + Self.last {
      #expect(again.lookUp(key).entry?.body == Self.body(key))
    }
  }

  @Test func `a removed entry does not come back when the tail was torn by a kill`() throws {
    let folder = JournalFolder()
    let store = try folder.open()
    try store.put([1], for: "removed")
    try store.put([2], for: "kept")
    try store.remove("removed")
    try store.put([3], for: "torn")
    store.close()
    let segment = try #require(folder.segments.first)
    try folder.write(Array(folder.bytes(segment).dropLast(20)), to: segment)
    try folder.leaveDeadSession()
    let again = try folder.open()
    again.waitUntilIdle()
    #expect(!again.contains("removed"))
    #expect(!again.contains("torn"))
    #expect(again.lookUp("kept").entry?.body == [2])
    #expect(folder.keyDirectories == 1)
  }
}
