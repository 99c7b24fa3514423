import CacheFormat
import TestSupport
import Testing

private func decodingError(_ bytes: [UInt8]) -> FormatError? {
  do throws(FormatError) {
    _ = try StoreDescription(decoding: bytes)
    return nil
  } catch {
    return error
  }
}

private func changed(_ old: String, to new: String) throws -> [UInt8] {
  let parts = goldenStoreText.split(separator: old, omittingEmptySubsequences: false)
  try #require(parts.count == 2, "\(old) must stand once in the document")
  let text = parts[0] + new + parts[1]
  let end = try #require(text.ranges(of: ",\n \"checksum\"").last)
  let bytes = Array(text[..<end.lowerBound].utf8)
  let checksum = Hexadecimal.string(Checksum.of(bytes))
  return bytes + Array(",\n \"checksum\": \"\(checksum)\"\n}\n".utf8)
}

@Suite struct StoreDescriptionTests {
  @Test func `the golden document is written byte for byte and read`() throws {
    #expect(goldenStore.encoded() == Array(goldenStoreText.utf8))
    #expect(try StoreDescription(decoding: Array(goldenStoreText.utf8)) == goldenStore)
    #expect(goldenStore.id.description == "00112233445566778899aabbccddeeff")
  }

  @Test func `random descriptions come back as they were`() throws {
    var generator = SplitMix64(seed: 11)
    for _ in 0..<200 {
      let store = StoreDescription(
        id: StoreDescription.ID(high: generator.next(), low: generator.next()),
        hashSeed: generator.next(),
        created: Timestamp(nanoseconds: Int64(bitPattern: generator.next())))
      #expect(try StoreDescription(decoding: store.encoded()) == store)
    }
  }

  @Test func `every other value of a byte is noticed`() {
    let bytes = Array(goldenStoreText.utf8)
    for index in bytes.indices {
      var damaged = bytes
      for value in UInt8.min...UInt8.max where value != bytes[index] {
        damaged[index] = value
        let code = decodingError(damaged)?.code
        if code != .wrongChecksum && code != .incomplete {
          Issue.record("byte \(index) as \(value)")
        }
      }
    }
  }

  @Test func `every cut is an incomplete document`() {
    let bytes = Array(goldenStoreText.utf8)
    for count in 0..<bytes.count {
      #expect(decodingError(Array(bytes[..<count]))?.code == .incomplete, "\(count) bytes")
    }
  }

  @Test(
    arguments: [
      ("\"format\": 1", "\"format\": 2", .newerFormat),
      ("\"format\": 1,", "\"format\": 2, \"id\": 5, \"id\": 6,", .newerFormat),
      ("\"format\": 1", "\"format\": 0", .outOfBounds),
      ("\"format\": 1", "\"format\": \"1\"", .wrongType),
      ("\"format\": 1,", "", .missingMember),
      ("\"format\": 1,", "\"x\": 0, \"format\": 1,", .missingMember),
      ("\"id\"", "\"ID\"", .missingMember),
      ("\"hashSeed\"", "\"seed\"", .missingMember),
      ("\"created\"", "\"Created\"", .missingMember),
      ("\"0123456789abcdef\"", "81985529216486895", .wrongType),
      ("\"0123456789abcdef\"", "\"123456789abcdef\"", .outOfBounds),
      ("\"00112233", "\"0011223", .outOfBounds),
      ("2026-11-20T", "2026-11-31T", .outOfBounds),
      ("\"hashSeed\"", "\"id\"", .notJSON),
    ] as [(String, String, FormatError.Code)])
  func `a sealed document with a wrong value is refused`(
    old: String, new: String, code: FormatError.Code
  ) throws {
    #expect(decodingError(try changed(old, to: new))?.code == code)
  }

  @Test func `a member that is not known is skipped`() throws {
    let bytes = try changed(" \"hashSeed\"", to: " \"later\": [1, {}],\n \"hashSeed\"")
    #expect(try StoreDescription(decoding: bytes) == goldenStore)
  }

  @Test func `a document over the limit is refused`() {
    let bytes = [UInt8](repeating: 0x20, count: StoreDescription.maximumBytes + 1)
    #expect(decodingError(bytes)?.code == .tooLarge)
  }
}
