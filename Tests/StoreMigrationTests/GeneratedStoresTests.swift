import Foundation
import StoreMigration
import Testing

/// Every store that the generators make, with a seed that nobody chose.
@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct GeneratedStoresTests {
  @Test(arguments: SourceFormat.allCases)
  func `every row is as the generator expects, and the source is left as it was`(
    format: SourceFormat
  ) throws {
    let seed = Int.random(in: 1...1_000_000_000)
    print("generates \(format) with seed \(seed)")
    let sandbox = try SourceSandbox()
    let stores = try generate(format, seed: seed, in: sandbox)
    let before = try FolderState(stores)
    var read: [(String, ExpectedStore, ReadStore)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: stores).sorted() {
      let expected = try ExpectedStore(folder: "\(stores)/\(name)")
      // As a copy, and in place where that is safe.
      for limit in [SourceCache.usualCopyLimit, 0] {
        let found = try self.read("\(stores)/\(name)", expected, format, limit, sandbox)
        if let found { read.append(("\(name)-\(limit)", expected, found)) }
      }
    }
    let digests = try ReadStore.digests(in: sandbox)
    for (name, expected, found) in read {
      let comparison = StoreComparison(expected, found) { digests["\(name)-\($0)"] }
      #expect(comparison.differences == [], "seed \(seed), \(name)")
    }
    #expect(try FolderState(stores) == before, "seed \(seed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies) == [])
  }

  private func generate(_ format: SourceFormat, seed: Int, in sandbox: SourceSandbox) throws
    -> String
  {
    let stores = sandbox.path + "/stores"
    try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: false)
    try SourceGenerators.run(format, to: stores, seed: seed, rows: 40)
    return stores
  }

  private func read(
    _ folder: String, _ expected: ExpectedStore, _ format: SourceFormat, _ copyLimit: UInt64,
    _ sandbox: SourceSandbox
  ) throws -> ReadStore? {
    let opens = expected.opens
    let causes = causes(expected)
    do {
      let cache = try SourceCache(
        path: "\(folder)/\(expected.store)", temporaryFolder: sandbox.copies, copyLimit: copyLimit)
      #expect(opens, "\(folder)")
      #expect(cache.format == format, "\(folder)")
      let name = URL(filePath: folder).lastPathComponent + "-\(copyLimit)"
      let found = try ReadStore(cache, as: name, in: sandbox)
      #expect(cache.rowCount == Int64(found.entries.count + found.skipped.count), "\(folder)")
      return found
    } catch let error as SourceError {
      #expect(!opens, "\(error)")
      #expect(causes.contains(error.cause), "\(error)")
      return nil
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
