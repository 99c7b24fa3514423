import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Synchronization
import Testing

/// A check changes nothing, ends when it is told to, and is not led astray by what changes meanwhile.
@Suite struct ReadingOnlyTests {
  @Test(arguments: CheckDepth.allCases) func `a check without repair changes nothing`(
    _ depth: CheckDepth
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try HealthyStoreTests.fill($0) }
    let healthy = FaultyFiles.watched()
    #expect(try sandbox.check(depth, fileSystem: healthy).findings == [])
    #expect(healthy.refused == [])
    try sandbox.flip("journal/00000001.log", at: 3000)
    try sandbox.append("journal/00000001.log", [1, 2, 3])
    for body in try sandbox.files(".body").prefix(4) { try sandbox.cut(body, by: 1) }
    for path in try sandbox.files(".json").suffix(4) { try sandbox.remove(path) }
    try sandbox.removeTree(try sandbox.keys()[10])
    try sandbox.remove("store.json")
    try sandbox.makeDirectory("staging/0123456789abcdef")
    try sandbox.write("foreign", [1])
    try sandbox.setMode("quarantine", 0o777)
    let damaged = FaultyFiles.watched()
    #expect(try sandbox.check(depth, fileSystem: damaged).findings.count > 10)
    #expect(damaged.refused == [])
  }

  @Test func `an entry that is replaced while it is read is no finding`() throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    try store.put([UInt8](repeating: 1, count: 100), for: "a")
    let isFirst = Atomic<Bool>(true)
    let files = FaultyFiles.watched { name in
      // After the index was asked, before the directory is read.
      guard name.count == 30, isFirst.exchange(false, ordering: .relaxed) else { return }
      _ = try? store.put([UInt8](repeating: 2, count: 50), for: "a")
    }
    let checked = try sandbox.check(.deep, fileSystem: files)
    #expect(checked.findings == [])
    let wasAsked = !isFirst.load(ordering: .relaxed)
    #expect(wasAsked)
    store.close()
  }

  @Test func `an entry that is removed, or all of them, while it is read is no finding`() throws {
    for removesAll in [false, true] {
      let sandbox = CheckSandbox()
      let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
      for key in ["a", "b", "c"] as [ByteString] { try store.put([1], for: key) }
      let isFirst = Atomic<Bool>(true)
      let files = FaultyFiles.watched { name in
        guard name.count == 30, isFirst.exchange(false, ordering: .relaxed) else { return }
        if removesAll {
          try? store.removeAll()
          _ = try? store.put([1, 2], for: "d")
        } else {
          for key in ["a", "b", "c"] as [ByteString] { _ = try? store.remove(key) }
        }
      }
      let found = try sandbox.check(.deep, fileSystem: files).findings
      #expect(
        found.map { "\($0.kind) \(String(decoding: $0.path, as: UTF8.self)) \($0.detail)" } == [],
        "\(removesAll)")
      let wasAsked = !isFirst.load(ordering: .relaxed)
      #expect(wasAsked)
      store.close()
    }
  }

  @Test func `a journal that is compacted while it is read is no finding`() throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    try store.put([1], for: "a")
    let isFirst = Atomic<Bool>(true)
    let files = FaultyFiles.watched { name in
      guard name.count == 12, isFirst.exchange(false, ordering: .relaxed) else { return }
      try? store.removeAll()
      for number in 0..<3000 {
        _ = try? store.put(
          [1], for: "a",
          metadata: EntryMetadata(
            userInfo: [Field("x", ByteString(bytes: [UInt8](repeating: 65, count: 500 + number)))]))
      }
      store.waitUntilIdle()
    }
    #expect(try sandbox.check(.deep, fileSystem: files).findings == [])
    #expect(try sandbox.names("journal") != ["00000001.log"])
    store.close()
  }

}
