import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct BodyReaderTests {
  let sandbox = StoreSandbox()

  private func reader(_ store: Store, _ key: ByteString) throws -> BodyReader {
    guard case .hit(_, let reader) = store.read(key) else {
      throw failure(.notFound, "no hit")
    }
    return reader
  }

  @Test(arguments: [1, 999, 4_096, 1 << 20])
  func `a body is read in pieces of any size`(piece: Int) throws {
    let store = try sandbox.open()
    let body = TestBody.make(30_001, seed: 2)
    let stored = try store.put(body, for: "k", metadata: EntryMetadata(status: 200))
    guard case .hit(let info, let reader) = store.read("k") else {
      Issue.record("no hit")
      return
    }
    #expect(info.digest == stored.digest)
    #expect(info.status == 200)
    #expect(reader.length == 30_001)
    var read: [UInt8] = []
    while true {
      let next = try reader.read(upTo: piece)
      if next.isEmpty { break }
      #expect(next.count <= piece)
      read += next
      #expect(reader.position == UInt64(read.count))
    }
    #expect(read == body)
    #expect(try reader.read(upTo: 10) == [])
    #expect(store.statistics.hits == 1)
  }

  @Test(arguments: [true, false])
  func `an entry whose body is found to be damaged is set aside`(verifiesFirst: Bool) throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(300_000, seed: 1), for: "k")
    let reader = try reader(store, "k")
    sandbox.flip(sandbox.bodies[0], at: 299_000)
    let error = #expect(throws: StoreError.self) {
      if verifiesFirst { try reader.verify() }
      while try !reader.read(upTo: 100_000).isEmpty {}
    }
    #expect(error?.code == .damaged)
    store.waitUntilIdle()
    #expect(!store.contains("k"))
    #expect(sandbox.quarantined.count == 1)
  }

  @Test func `an empty body is at its end at once`() throws {
    let store = try sandbox.open()
    try store.put([], for: "k")
    let reader = try reader(store, "k")
    #expect(reader.length == 0)
    #expect(try reader.read(upTo: 10) == [])
  }

  @Test func `reading goes on from where one goes to`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(10_000, seed: 5)
    try store.put(body, for: "k")
    let reader = try reader(store, "k")
    reader.seek(to: 9_990)
    #expect(try reader.read(upTo: 100) == Array(body[9_990...]))
    reader.seek(to: 5)
    #expect(try reader.read(upTo: 7) == Array(body[5..<12]))
    reader.seek(to: .max)
    #expect(reader.position == 10_000)
    #expect(try reader.read(upTo: 1) == [])
    reader.seek(to: 0)
    #expect(try reader.read(upTo: 10_000) == body)
  }

  @Test func `an opened body stays readable when its entry is removed or replaced`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(200_000, seed: 7)
    try store.put(body, for: "a")
    try store.put(body, for: "b", metadata: EntryMetadata(status: 1))
    let (one, two) = (try reader(store, "a"), try reader(store, "b"))
    #expect(try one.read(upTo: 100) == Array(body[..<100]))
    try store.remove("a")
    try store.put([1], for: "b")
    try store.removeAll()
    store.waitUntilIdle()
    #expect(try one.read(upTo: 200_000) == Array(body[100...]))
    store.close()
    #expect(try two.read(upTo: 200_000) == body)
  }

  @Test func `damage shows with the last piece`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(10_000, seed: 8)
    try store.put(body, for: "k")
    let name = try #require(sandbox.bodies.first)
    sandbox.flip(name, at: 9_000)
    let reader = try reader(store, "k")
    let path = sandbox.inside(name)
    #expect(try reader.read(upTo: 5_000) == Array(body[..<5_000]))
    #expect(throws: failure(.damaged, path)) { try reader.read(upTo: 5_000) }
    reader.seek(to: 0)
    #expect(throws: failure(.damaged, path)) { try reader.read(upTo: 10_000) }
    reader.seek(to: 100)
    #expect(try reader.read(upTo: 50) == Array(body[100..<150]))
  }

  @Test func `a body cut off while it is read is an error and not an end`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(10_000, seed: 9)
    try store.put(body, for: "k")
    let name = try #require(sandbox.bodies.first)
    let reader = try reader(store, "k")
    #expect(try reader.read(upTo: 1_000) == Array(body[..<1_000]))
    sandbox.overwrite(name, Array(body[..<5_000]))
    #expect(throws: failure(.damaged, sandbox.inside(name))) { try reader.read(upTo: 9_000) }
  }

  @Test func `a body of another length is a damaged miss`() throws {
    let store = try sandbox.open()
    try store.put([1, 2, 3], for: "k")
    sandbox.overwrite(try #require(sandbox.bodies.first), [1, 2])
    guard case .miss(.damaged) = store.read("k") else {
      Issue.record("no miss")
      return
    }
    #expect(store.statistics.damagedMisses == 1)
    store.waitUntilIdle()
    #expect(sandbox.quarantined.count == 1)
  }

  @Test func `an error of the disk while reading is reported with its path`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1, 2, 3], for: "k")
    let reader = try reader(store, "k")
    files.faults.set { $0.kind == .read ? .inputOutput : nil }
    let path = sandbox.inside(try #require(sandbox.bodies.first))
    #expect(throws: failure(.inputOutput, path, errno: EIO)) { try reader.read(upTo: 3) }
    files.faults.set(nil)
    #expect(try reader.read(upTo: 3) == [1, 2, 3])
  }

  #if os(Linux)
    @Test func `300 MB pass through in less than 64 MB of memory`() async {
      // In a process of its own, so that other tests' memory does not count.
      await #expect(processExitsWith: .success) {
        let sandbox = StoreSandbox()
        let store = try sandbox.open(Options(memoryBytes: 8 << 20))
        let piece = TestBody.make(1 << 20, seed: 1)
        let before = MemoryUse.peakBytes
        for key: ByteString in ["a", "b"] {
          // The second one is compared with the first one and shared.
          let writer = try store.makeWriter(for: key)
          for _ in 0..<300 { try writer.write(piece) }
          try writer.commit()
        }
        guard case .hit(let info, let reader) = store.read("b") else {
          Issue.record("no hit")
          return
        }
        #expect(info.length == 300 << 20)
        var count = 0
        while true {
          let next = try reader.read(upTo: 1 << 20)
          if next.isEmpty { break }
          #expect(next == piece)
          count += 1
        }
        #expect(count == 300)
        #expect(before > 0)
        #expect(MemoryUse.peakBytes - before < 64 << 20)
      }
    }
  #else
    @Test(.disabled("the peak of memory is read from /proc, which only Linux has"))
    func `300 MB pass through in less than 64 MB of memory`() {}
  #endif
}

/// The memory of this process, from proc(5).
enum MemoryUse {
  /// VmHWM: the most that was resident so far.
  static var peakBytes: Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      let words = line.split(whereSeparator: \.isWhitespace)
      return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
    }
    return 0
  }
}
