import CacheFormat
import Testing

@Suite struct EntryMetadataTests {
  @Test func `an entry is spare by one tag, as it is written`() {
    #expect(EntryMetadata(tags: ["a", "spare"]).isSpare)
    #expect(EntryMetadata(tags: [EntryMetadata.spareTag, "spare"]).isSpare)
    for tag in ["", "Spare", "spare ", " spare", "spares", "spar", "spare\0"] as [ByteString] {
      #expect(!EntryMetadata(tags: [tag]).isSpare, "\(tag)")
    }
    #expect(!EntryMetadata().isSpare)
    #expect(!EntryMetadata(fields: [Field("spare", "spare")]).isSpare)
  }

  @Test func `metadata differ by the order of their fields, and by each property`() {
    let (a, b) = (Field("a", "1"), Field("b", "2"))
    let all = [
      EntryMetadata(), EntryMetadata(status: 0), EntryMetadata(status: 200),
      EntryMetadata(fields: [a, b]), EntryMetadata(fields: [b, a]),
      EntryMetadata(userInfo: [a, b]),
      EntryMetadata(tags: ["a"]), EntryMetadata(tags: ["a", "a"]),
      EntryMetadata(expires: Timestamp(nanoseconds: 0)),
    ]
    #expect(Set(all).count == all.count)
  }
}
