import CacheFormat
import Testing

@testable import CacheStore

/// A record that is damaged, of a change to an entry whose older record is whole: what the older one
/// says was replaced, and must not be told, not even before tree and journal were compared.
@Suite struct StaleRecordTests {
  /// A store whose journal has lost the record of the last change to its only entry.
  private func folder(_ change: (Store) throws -> Void) throws -> JournalFolder {
    let folder = JournalFolder()
    let store = try folder.open()
    try store.put([1], for: "k", metadata: EntryMetadata(status: 200))
    try change(store)
    try store.put([2], for: "other")
    store.close()
    let segment = try #require(folder.segments.first)
    var bytes = folder.bytes(segment)
    // The records of the two puts, with that of the change between them.
    let puts = folder.records(in: segment).filter { $0.header.type == .put }
    let lost = try #require(puts.dropLast().last)
    bytes[lost.offset + RecordFrame.headerCount] ^= 1
    try folder.write(bytes, to: segment)
    return folder
  }

  @Test(arguments: [false, true]) func `changed metadata is told from the tree`(only: Bool) throws {
    let folder = try folder { store in try store.update("k") { $0.status = 404 } }
    for _ in 0..<2 {
      let store = try folder.open(Options(isReadOnly: only))
      #expect(store.lookUp("k").entry?.info.metadata.status == 404)
      #expect(store.info(for: "k")?.metadata.status == 404)
      store.close()
    }
  }

  @Test(arguments: [false, true]) func `a pin is told from the tree`(only: Bool) throws {
    let folder = try folder { store in try store.pin("k") }
    let store = try folder.open(Options(isReadOnly: only))
    #expect(store.info(for: "k")?.isPinned == true)
    #expect(store.variants(of: "k").first?.isPinned == true)
    store.close()
  }

  @Test(arguments: [false, true]) func `another body is found in the tree`(only: Bool) throws {
    let folder = try folder { store in try store.put([3, 3], for: "k") }
    let store = try folder.open(Options(isReadOnly: only))
    #expect(store.lookUp("k").entry?.body == [3, 3])
    #expect(store.lookUp("other").entry?.body == [2])
    store.close()
  }
}
