import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// Repairs that copy misplaced entries, because no hard link is possible.
@Suite struct CopiedEntriesTests {
  /// Makes a store whose entries are all in a foreign directory.
  private func sandbox() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for number in 0..<4 {
        try store.put(body(number), for: "\(number)", variant: UInt64(number))
      }
    }
    try sandbox.makeDirectory("entries/x")
    for file in try sandbox.files(".json") + sandbox.files(".body") {
      try sandbox.move(file, to: "entries/x/\(file.split(separator: "/").last ?? "")")
    }
    return sandbox
  }

  private func body(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 5000) }

  @Test func `each entry leaves the foreign directory once it is copied`() throws {
    var left: Set<Int> = []
    for place in 0..<1000 {
      let sandbox = try sandbox()
      let (files, calls) = (FaultyFiles(), CallCounter())
      files.faults.set { call in
        if call.kind == .link { return SystemError(EPERM) }
        return call.kind == .write && calls.next() >= place ? SystemError(ENOSPC) : nil
      }
      _ = try? sandbox.repair(.safe, fileSystem: files)
      left.insert(((try? sandbox.names("entries/x")) ?? []).count)
      files.faults.set { $0.kind == .link ? SystemError(EPERM) : nil }
      #expect(try sandbox.repair(.all, fileSystem: files).report.lostEntries == 0, "\(place)")
      try sandbox.fill { store in
        for number in 0..<4 {
          let entry = store.lookUp("\(number)", variant: UInt64(number)).entry
          #expect(entry?.body == body(number), "\(place)")
        }
      }
      if calls.value <= place { break }
    }
    #expect(left.isSuperset(of: [0, 2, 4, 6, 8]))
  }

  @Test func `a copy is synced under its name before its source is removed`() throws {
    let sandbox = try sandbox()
    let files = FaultyFiles()
    files.faults.set { $0.kind == .link ? SystemError(EPERM) : nil }
    _ = try sandbox.repair(.safe, fileSystem: files)
    let calls = files.faults.calls
    for number in 0..<4 {
      let name = "000000000000000\(number).json"
      let removed = try #require(
        calls.firstIndex { $0.kind == .removeFile && $0.name == name })
      let before = calls[..<removed]
      // Its shard, its directory.
      let renamed = try #require(before.lastIndex { $0.kind == .rename })
      let synced = before[renamed...].filter { $0.kind == .synchronize }.map(\.name)
      #expect(synced.contains { $0.utf8.count == 33 } && synced.contains { $0.utf8.count == 2 })
      #expect(synced.contains("entries"))
    }
  }
}
