import CacheFormat

// The bytes as they must stand on disk. They were put together and sealed by a script outside this
// package (Python, with the package xxhash of PyPI), from the text of Docs/Format.md.

let goldenMetadataText = #"""
  {
   "format": 1,
   "seed": "0123456789abcdef",
   "key": "https://example.org/guide?lang=de",
   "variant": "00000000000000ff",
   "status": 200,
   "fields": [
    ["content-type", "text/html"],
    ["etag", "\"5f3a\""],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"]
   ],
   "userInfo": [
    ["note", "grün\n\u0000"],
    ["raw", {"base64": "/wB/gA=="}]
   ],
   "tags": ["docs", "web"],
   "created": "2026-11-20T20:01:48.123456789Z",
   "accessed": "2026-11-20T20:01:50.000000001Z",
   "expires": "2026-12-20T00:00:00.000000000Z",
   "pinned": true,
   "digest": "99aa06d3014798d86001c324468d497f",
   "length": 0,
   "checksum": "18e528c23e262734"
  }

  """#

let goldenSmallMetadataText = #"""
  {
   "format": 1,
   "seed": "0000000000000000",
   "key": "k",
   "variant": "0000000000000000",
   "fields": [],
   "userInfo": [],
   "tags": [],
   "created": "1970-01-01T00:00:00.000000000Z",
   "accessed": "1970-01-01T00:00:00.000000000Z",
   "pinned": false,
   "digest": "00000000000000000000000000000000",
   "length": 18446744073709551615,
   "checksum": "d0822735f5d9e026"
  }

  """#

let goldenStoreText = #"""
  {
   "format": 1,
   "id": "00112233445566778899aabbccddeeff",
   "hashSeed": "0123456789abcdef",
   "created": "2026-11-20T20:01:48.123456789Z",
   "checksum": "cab6edf6dcf01038"
  }

  """#

let goldenSeed: UInt64 = 0x0123_4567_89ab_cdef

let goldenMetadata = MetadataDocument(
  hashSeed: goldenSeed,
  entry: StoredEntry(
    key: "https://example.org/guide?lang=de", variant: 255, digest: Digest(hashing: []), length: 0,
    created: Timestamp(nanoseconds: 1_795_204_908_123_456_789),
    accessed: Timestamp(nanoseconds: 1_795_204_910_000_000_001), isPinned: true,
    metadata: EntryMetadata(
      status: 200,
      fields: [
        Field("content-type", "text/html"), Field("etag", "\"5f3a\""),
        Field("set-cookie", "a=1"), Field("set-cookie", "b=2"),
      ],
      userInfo: [
        Field("note", "grün\n\0"), Field("raw", ByteString(bytes: [0xff, 0, 0x7f, 0x80])),
      ],
      tags: ["docs", "web"], expires: Timestamp(nanoseconds: 1_797_724_800_000_000_000))))

let goldenSmallMetadata = MetadataDocument(
  hashSeed: 0,
  entry: StoredEntry(
    key: "k", digest: Digest(high: 0, low: 0), length: .max, created: Timestamp(nanoseconds: 0),
    accessed: Timestamp(nanoseconds: 0)))

let goldenStore = StoreDescription(
  id: StoreDescription.ID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff),
  hashSeed: goldenSeed, created: Timestamp(nanoseconds: 1_795_204_908_123_456_789))
