import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Synchronization
import Testing

@Suite struct CheckRunTests {
  @Test func `on a read-only volume a store is checked, and a repair is refused`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try HealthyStoreTests.fill($0) }
    let files = FaultyFiles()
    files.faults.set {
      $0.isChange || $0.options.contains(.write) ? SystemError.readOnlyFileSystem : nil
    }
    #expect(try sandbox.check(.quick, fileSystem: files).findings == [])
    let error = #expect(throws: CheckError.self) {
      try sandbox.repair(.safe, .quick, fileSystem: files)
    }
    #expect(error?.code == .permissionDenied && error?.remedy.hasPrefix("check it without") == true)
  }

  @Test func `a check can be cancelled`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try HealthyStoreTests.fill($0) }
    let box = Mutex<StoreChecker?>(nil)
    let files = FaultyFiles.watched { name in
      // When the first directory of a key is opened.
      if name.count == 30 { box.withLock { $0?.cancel() } }
    }
    var options = CheckOptions(jobs: 1)
    options.fileSystem = files
    let checker = StoreChecker(at: sandbox.root, options: options)
    box.withLock { $0 = checker }
    let listener = Listener()
    let error = #expect(throws: CheckError.self) { try checker.run(listener) }
    #expect(error?.code == .cancelled)
    box.withLock { $0 = nil }
  }

  @Test func `a shard whose last body was not read to its end is not done`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([UInt8](repeating: 7, count: 8 << 20), for: "a") }
    let path = try sandbox.body()
    let shard = try #require(Finding(.bodyWrong, path: Array(path.utf8), detail: "").shard)
    let box = Mutex<StoreChecker?>(nil)
    let files = FaultyFiles()
    files.faults.set { call in
      if call.kind == .read, call.name.hasSuffix(".body"), call.offset > 0 {
        box.withLock { $0?.cancel() }
      }
      return nil
    }
    var options = CheckOptions(depth: .deep, jobs: 1)
    options.fileSystem = files
    let checker = StoreChecker(at: sandbox.root, options: options)
    box.withLock { $0 = checker }
    let listener = Listener()
    #expect(throws: CheckError.self) { try checker.run(listener) }
    #expect(listener.progress.contains { $0.shards.count == Int(shard) })
    #expect(listener.progress.allSatisfy { !$0.shards.contains(shard) })
    box.withLock { $0 = nil }
  }

  @Test func `a check looks at what it is told to`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1], for: "a") }
    try sandbox.flip(try sandbox.body(), at: 0)
    #expect(try sandbox.check(.quick).findings == [])
    #expect(try sandbox.check(.deep).kinds == [.bodyWrong])
    #expect(try sandbox.check(.deep, skipping: Set(0...255)).findings == [])
  }
}
