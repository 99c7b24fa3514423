import CacheFormat
import Testing

@Suite struct EntryInfoTests {
  @Test func `all properties are those of the record, but the access time`() {
    let accessed = Timestamp(nanoseconds: 77)
    let info = EntryInfo(record: RecordCase.putBinary, accessed: accessed)
    let head = RecordCase.putBinary.head
    #expect(info.key == ByteString(bytes: [0xff, 0, 0x6b]))
    #expect(info.variant == head.variant)
    #expect(info.digest == head.digest)
    #expect(info.length == head.length)
    #expect(info.created == head.created)
    #expect(info.accessed == accessed)
    #expect(info.isPinned)
    #expect(info.expires == Timestamp(nanoseconds: 5))
    #expect(info.status == nil)
    #expect(info.fields == [Field("", ""), Field("a", ByteString(bytes: [0, 0xff]))])
    #expect(info.userInfo == [Field("n", "v")])
    #expect(info.tags == ["", ByteString(bytes: [0x74, 0xc3])])
    #expect(info.metadata == RecordCase.putBinary.metadata)
  }

  @Test func `an entry that is neither pinned nor expires says so`() {
    let info = EntryInfo(record: RecordCase.put, accessed: RecordCase.put.head.accessed)
    #expect(!info.isPinned)
    #expect(info.expires == nil)
    #expect(info.status == 200)
    #expect(info.accessed == Timestamp(nanoseconds: RecordGolden.time + 1))
  }
}
