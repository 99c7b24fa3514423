import CacheFormat
import CacheSystem
import TestSupport
import Testing

@testable import CacheStore

@Suite struct SlotCursorTests {
  let sandbox = StoreSandbox()

  @Test func `an index that is built anew meanwhile leaves no entry out`() throws {
    let store = try sandbox.open()
    let keys = (0..<600).map { ByteString("k\($0)") }
    for key in keys { try store.put([1], for: key) }
    // The numbers of slots are lower ones after the journal was read again.
    for key in keys.prefix(300) { try store.remove(key) }
    try store.purge()
    var cursor = SlotCursor()
    #expect(cursor.next(in: store.catalog)?.isEmpty == true)
    var found: Set<KeyHash> = []
    store.catalog.state.withLock { store.catalog.reader.reload(&$0) }
    while let more = cursor.next(in: store.catalog) { found.formUnion(more.map(\.slot.keyHash)) }
    #expect(found == Set(keys.dropFirst(300).map(store.catalog.hash)))
  }
}
