import Foundation
import StoreMigration
import Testing

/// Every store that the generators make, with a seed that nobody chose.
@Suite(.enabled(if: SharedSources.areThere, "set OFFLINECACHE_SHARED to the folder with sqlite/gen"))
struct GeneratedStoresTests {
  @Test(arguments: SourceFormat.allCases, [SourceCache.usualCopyLimit, 0])
  func `every row is as the generator expects, and the source is left as it was`(
    format: SourceFormat, copyLimit: UInt64
  ) throws {
    let seed = Int.random(in: 1...1_000_000_000)
    print("generates \(format) with seed \(seed)")
    let sandbox = try SourceSandbox()
    let stores = try generate(format, seed: seed, in: sandbox)
    let before = try FolderState(stores)
    for name in try FileManager.default.contentsOfDirectory(atPath: stores).sorted() {
      try compare("\(stores)/\(name)", format, copyLimit, sandbox, "seed \(seed), \(name)")
    }
    #expect(try FolderState(stores) == before, "seed \(seed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies) == [])
  }

  private func generate(_ format: SourceFormat, seed: Int, in sandbox: SourceSandbox) throws -> String {
    let stores = sandbox.path + "/stores"
    try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: false)
    let script = try #require(SharedSources.folder) + "/gen/gen_\(format).py"
    _ = try Python.run([script, stores, "\(seed)", "40"])
    return stores
  }

  private func compare(
    _ folder: String, _ format: SourceFormat, _ copyLimit: UInt64, _ sandbox: SourceSandbox,
    _ name: Comment
  ) throws {
    let expected = try ExpectedStore(folder: folder)
    do {
      let cache = try SourceCache(
        path: "\(folder)/\(expected.store)", temporaryFolder: sandbox.copies, copyLimit: copyLimit)
      #expect(expected.opens, name)
      #expect(cache.format == format, name)
      let found = try ReadStore(cache, in: sandbox)
      #expect(StoreComparison(expected, found).differences == [], name)
      #expect(cache.rowCount == Int64(found.entries.count + found.skipped.count), name)
    } catch let error as SourceError {
      #expect(!expected.opens, "\(name): \(error)")
      #expect(causes(expected).contains(error.cause), "\(name): \(error)")
    }
  }

  /// The causes that fit a broken store.
  private func causes(_ expected: ExpectedStore) -> Set<SourceError.Cause> {
    switch expected.variant {
    case "broken_truncated", "broken_header_only": [.truncated]
    case "broken_zero_byte": [.empty]
    case "broken_not_a_database": [.notADatabase]
    case "broken_page_garbage": [.corrupt]
    case "broken_wrong_schema", "broken_schema_999": [.missingColumns]
    case "broken_other_model": [.unknownSchema]
    default: []
    }
  }
}
