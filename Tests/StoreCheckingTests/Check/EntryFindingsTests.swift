import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import TestSupport
import Testing

/// One test for each way in which an entry can be damaged: just that is found.
@Suite struct EntryFindingsTests {
  /// A store with one entry: 5,000 bytes under the key "a".
  private func one(_ store: (Store) throws -> Void = { _ in }) throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill {
      try $0.put([UInt8](repeating: 5, count: 5000), for: "a")
      try store($0)
    }
    #expect(try sandbox.check(.deep).findings == [])
    return sandbox
  }

  @Test func `an entry whose directory is gone is missing`() throws {
    let sandbox = try one()
    try sandbox.removeTree(try sandbox.key())
    #expect(try sandbox.check().kinds == [.entryMissing])
  }

  @Test func `an entry whose shard is gone is missing`() throws {
    let sandbox = try one()
    let shard = try sandbox.names("entries")[0]
    try sandbox.removeTree("entries/\(shard)")
    #expect(try sandbox.check().kinds == [.entryMissing])
  }

  @Test func `an entry whose files are gone is missing`() throws {
    let sandbox = try one()
    try sandbox.remove(try sandbox.metadata())
    try sandbox.remove(try sandbox.body())
    #expect(try sandbox.check().kinds == [.entryMissing])
  }

  @Test func `a missing metadata file is found`() throws {
    let sandbox = try one()
    let path = try sandbox.metadata()
    try sandbox.remove(path)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.metadataMissing])
    #expect(checked.paths(.metadataMissing) == [path])
  }

  @Test func `a changed or cut metadata file is damaged`() throws {
    let sandbox = try one()
    let path = try sandbox.metadata()
    let bytes = try sandbox.bytes(path)
    try sandbox.flip(path, at: 100)
    #expect(try sandbox.check().kinds == [.metadataDamaged])
    try sandbox.write(path, Array(bytes.dropLast(10)))
    #expect(try sandbox.check().kinds == [.metadataDamaged])
    try sandbox.write(path, [])
    #expect(try sandbox.check().kinds == [.metadataDamaged])
  }

  @Test func `a metadata file of a gigabyte is damaged, and not read`() throws {
    let sandbox = try one()
    try sandbox.stretch(try sandbox.metadata(), to: 1 << 30)
    #expect(try sandbox.check().kinds == [.metadataDamaged])
  }

  @Test func `a metadata file of a newer version is reported as such`() throws {
    let sandbox = try one()
    try sandbox.write(
      try sandbox.metadata(),
      try rewritten(sandbox, from: "\"format\": 1", to: "\"format\": 3"))
    #expect(try sandbox.check().kinds == [.newerFormat])
  }

  @Test func `a metadata file of another entry is foreign`() throws {
    let sandbox = try one { try $0.put([1], for: "b") }
    let paths = try sandbox.files(".json")
    try sandbox.copy(paths[0], to: paths[1])
    let checked = try sandbox.check()
    #expect(checked.kinds == [.metadataForeign])
    #expect(checked.paths(.metadataForeign) == [paths[1]])
  }

  @Test func `a metadata file of another store is foreign`() throws {
    let sandbox = try one()
    let other = try one()
    try sandbox.write(try sandbox.metadata(), try other.bytes(try other.metadata()))
    #expect(try sandbox.check().kinds == [.metadataForeign])
  }

  @Test func `an older metadata file differs from the journal`() throws {
    let sandbox = try one()
    let path = try sandbox.metadata()
    let old = try sandbox.bytes(path)
    try sandbox.fill { try $0.pin("a") }
    try sandbox.write(path, old)
    #expect(try sandbox.check().kinds == [.metadataDiffers])
  }

  @Test func `fields that differ from the record are found by a deep check`() throws {
    let sandbox = try one {
      try $0.update("a") { $0.fields = [Field("etag", "1")] }
    }
    try sandbox.write(
      try sandbox.metadata(),
      try rewritten(sandbox, from: "[\"etag\", \"1\"]", to: "[\"etag\", \"2\"]"))
    #expect(try sandbox.check(.quick).findings == [])
    #expect(try sandbox.check(.deep).kinds == [.metadataDiffers])
  }

  /// The metadata file with a text replaced and the checksum made right.
  private func rewritten(
    _ sandbox: CheckSandbox, from: String, to: String
  ) throws -> [UInt8] {
    let text = String(decoding: try sandbox.bytes(try sandbox.metadata()), as: UTF8.self)
    let place = try #require(text.firstRange(of: from))
    let changed = text.replacingCharacters(place, to)
    let seedAt = try #require(changed.firstRange(of: "\"seed\": \""))
    let seed = try #require(UInt64(changed[seedAt.upperBound...].prefix(16), radix: 16))
    let covered = Array(changed.utf8.dropLast(36))
    return covered
      + Array(
        ",\n \"checksum\": \"\(Hexadecimal.string(Checksum.of(covered, seed: seed)))\"\n}\n".utf8)
  }

  @Test func `a missing body is found`() throws {
    let sandbox = try one()
    let path = try sandbox.body()
    try sandbox.remove(path)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.bodyMissing])
    #expect(checked.paths(.bodyMissing) == [path])
    #expect(checked.findings[0].key == Array("a".utf8))
  }

  @Test(arguments: CheckDepth.allCases) func `a body of a wrong length is found`(
    _ depth: CheckDepth
  ) throws {
    let sandbox = try one()
    let path = try sandbox.body()
    let bytes = try sandbox.bytes(path)
    try sandbox.cut(path, by: 1)
    #expect(try sandbox.check(depth).kinds == [.bodyShort])
    try sandbox.write(path, bytes + [1])
    #expect(try sandbox.check(depth).kinds == [.bodyLong])
    try sandbox.stretch(path, to: 1 << 40)
    #expect(try sandbox.check(depth).kinds == [.bodyLong])
  }

  @Test(arguments: [100, (1 << 20) - 1, 1 << 20, 3 << 20])
  func `a changed body is found, whatever its length`(_ length: Int) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([UInt8](repeating: 1, count: length), for: "a") }
    #expect(try sandbox.check(.deep).findings == [])
    try sandbox.flip(try sandbox.body(), at: -1)
    let checked = try sandbox.check(.deep)
    #expect(checked.kinds == [.bodyWrong])
  }

  @Test func `a body that no entry has is an orphan`() throws {
    let sandbox = try one()
    try sandbox.write("\(try sandbox.key())/\(String(repeating: "0", count: 32)).body", [1])
    #expect(try sandbox.check().kinds == [.bodyOrphan])
  }

  @Test func `an empty directory is found`() throws {
    let sandbox = try one()
    try sandbox.makeDirectory(
      "entries/\(try sandbox.names("entries")[0])/\(String(repeating: "0", count: 30))")
    #expect(try sandbox.check().kinds == [.directoryEmpty])
  }

  @Test func `files that the journal does not know are found`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    try sandbox.fill { try $0.remove("a") }
    // The files of the removed entry are there again, as after a power cut.
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    try store.put([1, 2, 3], for: "a")
    let body = try sandbox.body()
    let metadata = try sandbox.metadata()
    let bytes = (try sandbox.bytes(body), try sandbox.bytes(metadata))
    try store.remove("a")
    store.close()
    try sandbox.makeDirectory(key)
    try sandbox.write(body, bytes.0)
    try sandbox.write(metadata, bytes.1)
    let checked = try sandbox.check(.deep)
    #expect(checked.kinds == [.entryUnrecorded])
    #expect(checked.paths(.entryUnrecorded) == [metadata])
    // Half of one is what a killed process leaves; otherwise it is damage.
    try sandbox.cut(metadata, by: 1)
    #expect(try sandbox.check().kinds == [.metadataDamaged])
    try sandbox.makeDirectory("staging/0123456789abcdef")
    #expect(try sandbox.check().kinds == [.bodyOrphan, .entryUnrecorded, .stagingLeft])
  }

  @Test func `a whole entry at a wrong place is found, one level down, too`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    let shard = key.prefix(10)
    try sandbox.move(key, to: "\(shard)/copy")
    let checked = try sandbox.check()
    #expect(checked.kinds == [.entryMisplaced, .entryMissing])
    #expect(checked.paths(.entryMisplaced) == ["\(shard)/copy"])
    try sandbox.makeDirectory("entries/backup")
    try sandbox.move("\(shard)/copy", to: "entries/backup/x")
    #expect(try sandbox.check().kinds == [.entryMisplaced, .entryMissing, .foreignFile])
    try sandbox.move("entries/backup/x", to: "\(shard)/\(String(repeating: "0", count: 30))")
    #expect(try sandbox.check().paths(.entryMisplaced).count == 1)
  }

  @Test func `bytes that are counted wrongly are found`() throws {
    let sandbox = try one {
      try $0.update("a") {
        $0.userInfo = [Field("x", ByteString(bytes: [UInt8](repeating: 97, count: 5000)))]
      }
    }
    // A metadata file that says the same in fewer bytes is charged less.
    let path = try sandbox.metadata()
    let text = String(decoding: try sandbox.bytes(path), as: UTF8.self)
    let short = text.replacing(String(repeating: "a", count: 5000), with: "a")
    let seedAt = try #require(short.firstRange(of: "\"seed\": \""))
    let seed = try #require(UInt64(short[seedAt.upperBound...].prefix(16), radix: 16))
    let covered = Array(short.utf8.dropLast(36))
    try sandbox.write(
      path,
      covered
        + Array(
          ",\n \"checksum\": \"\(Hexadecimal.string(Checksum.of(covered, seed: seed)))\"\n}\n".utf8)
    )
    #expect(try sandbox.check(.quick).kinds == [.usageWrong])
  }

  @Test func `times that are to come are told, and do not count`() throws {
    let sandbox = CheckSandbox()
    let now = SystemClock().now()
    try sandbox.fill(Options(clock: TestClock(now + 172_800_000_000_000))) {
      try $0.put([1], for: "a")
    }
    for _ in 0..<2 {
      let checked = try sandbox.check()
      #expect(checked.kinds == [.timeImplausible])
      #expect(checked.report.found == 0 && checked.report.left == 0)
      // A repair changes nothing about that, and does not fail.
      #expect(try sandbox.repair().report.left == 0)
    }
    #expect(
      try sandbox.check(clock: TestClock(now + 172_800_000_000_000)).findings == [])
  }
}

extension String {
  fileprivate func replacingCharacters(_ range: Range<String.Index>, _ text: String) -> String {
    var copy = self
    copy.replaceSubrange(range, with: text)
    return copy
  }
}
