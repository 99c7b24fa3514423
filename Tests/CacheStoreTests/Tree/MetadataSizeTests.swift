import CacheFormat
import Testing

@testable import CacheStore

@Suite struct MetadataSizeTests {
  private let sandbox = StoreSandbox()

  private func metadata(_ count: Int) -> EntryMetadata {
    EntryMetadata(fields: [Field("X", ByteString(String(repeating: "v", count: count)))])
  }

  @Test(arguments: [0, 100, 20_000])
  func `an entry takes no more than was computed`(count: Int) throws {
    let store = try sandbox.open()
    let metadata = metadata(count)
    let size = try #require(MetadataSize("k", variant: 7, metadata, length: 30_000))
    try store.put([UInt8](repeating: 1, count: 30_000), for: "k", variant: 7, metadata: metadata)
    let located = try #require(store.catalog.locate(store.catalog.hash("k"), 7))
    let written = UInt64(try store.catalog.tree.document(of: located).encoded().count)
    #expect(written <= size.file && size.file <= max(4_096, written + 64))
    #expect(size.record == UInt64(located.slot.keptBytes))
  }

  @Test func `metadata that no store takes have no size`() {
    #expect(MetadataSize("k", variant: 0, metadata(9 << 20), length: 0) == nil)
  }
}
