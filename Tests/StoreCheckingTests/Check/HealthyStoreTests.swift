import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

/// A store that is as it should be gives no finding.
@Suite struct HealthyStoreTests {
  @Test(arguments: CheckDepth.allCases) func `an empty store has no finding`(
    _ depth: CheckDepth
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { _ in }
    let checked = try sandbox.check(depth)
    #expect(checked.findings == [])
    #expect(checked.report.partialCause == nil)
  }

  @Test(arguments: CheckDepth.allCases, [Settling.atOnce, .within(seconds: 60)])
  func `every kind of content has no finding`(_ depth: CheckDepth, _ settling: Settling) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: settling) { store in try Self.fill(store) }
    // Two threads that meet a shared body at the same time may both read it.
    let checked = try sandbox.check(depth, jobs: 1)
    #expect(checked.findings == [])
    #expect(try sandbox.check(depth, jobs: 2).findings == [])
    #expect(checked.report.entries == 28)
    #expect(checked.report.storeID?.count == 32)
    // Bodies in metadata files are not shared.
    let shared: UInt64 = settling == .atOnce ? 5 : 10
    #expect(checked.report.bodyBytes == 2_500_000 + shared + 20 * 100 + 4 * 3)
    #expect(checked.report.readBytes == (depth == .deep ? checked.report.bodyBytes : 0))
    #expect(checked.progress.last?.entries == 28)
    #expect(checked.progress.last?.shards.count == 256)
  }

  /// Stores 28 entries: long and short, empty, shared, with variants, pinned, amended, replaced, removed.
  static func fill(_ store: Store) throws {
    try store.put([], for: "empty")
    try store.put([1, 2, 3, 4, 5], for: "shared 1")
    try store.put([1, 2, 3, 4, 5], for: "shared 2")
    try store.put([UInt8](repeating: 7, count: 2_500_000), for: "long")
    for number in 0..<20 {
      try store.put([UInt8](repeating: UInt8(number), count: 100), for: ByteString("key \(number)"))
    }
    for variant in 1...4 as ClosedRange<UInt64> {
      try store.put(
        [UInt8](repeating: UInt8(variant), count: 3), for: "variants", variant: variant,
        metadata: EntryMetadata(
          status: 200, fields: [Field("etag", ByteString("\"\(variant)\""))],
          userInfo: [Field("a", "b")],
          tags: ["t"], expires: Timestamp(nanoseconds: 1_900_000_000_000_000_000)))
    }
    try store.pin("key 1")
    try store.update("key 2") { $0.tags = ["x"] }
    try store.put([UInt8](repeating: 99, count: 100), for: "key 3")
    try store.put([1], for: "gone")
    try store.remove("gone")
  }

  @Test func `a store in a folder of the user's own mode has no finding`() throws {
    let sandbox = CheckSandbox()
    try sandbox.makeDirectory("")
    try sandbox.setMode("", 0o755)
    try sandbox.fill { try $0.put([1], for: "a") }
    #expect(try sandbox.check().findings == [])
    #expect(try sandbox.repair().findings == [])
    // Who may write to it can replace what is in it.
    try sandbox.setMode("", 0o775)
    #expect(try sandbox.check().kinds == [.wrongMode])
    #expect(try sandbox.repair(.safe).unrepaired == [])
    let root = try RealFileSystem().open(userPath: sandbox.root, [.read, .directory])
    #expect(try RealFileSystem().status(of: root.raw).mode == 0o755)
  }

  @Test func `a store that is open has no finding`() throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    try store.put([1, 2], for: "a")
    let writer = try store.makeWriter(for: "b")
    try writer.write([1, 2, 3])
    #expect(try sandbox.check(.deep).findings == [])
    writer.discard()
    store.close()
  }

  @Test func `a store that was emptied has no finding`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      try Self.fill(store)
      try store.removeAll()
      try store.put([1], for: "after")
    }
    let checked = try sandbox.check(.deep)
    #expect(checked.findings == [])
    #expect(checked.report.entries == 1)
  }
}
