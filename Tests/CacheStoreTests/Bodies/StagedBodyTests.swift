import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct StagedBodyTests {
  let sandbox = StoreSandbox()

  @Test func `what is written can be read from any place, while it is written`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(200_000, seed: 3)
    let writer = try store.makeWriter(for: "k")
    #expect(try writer.written.read(at: 0, upTo: 10) == [])
    for start in stride(from: 0, to: body.count, by: 70_000) {
      let end = min(body.count, start + 70_000)
      try writer.write(Array(body[start..<end]))
      #expect(try writer.written.read(at: 0, upTo: 5) == Array(body[..<5]))
      #expect(
        try writer.written.read(at: UInt64(end - 3), upTo: 100) == Array(body[(end - 3)..<end]))
      #expect(try writer.written.read(at: UInt64(end), upTo: 1) == [])
    }
    #expect(try writer.written.read(at: 0, upTo: body.count + 1) == body)
    #expect(try writer.written.read(at: 7, upTo: 0) == [])
    #expect(try writer.written.read(at: 1 << 62, upTo: 1) == [])
  }

  @Test(arguments: [true, false])
  func `it stays readable after the end, and leaves no file`(commits: Bool) throws {
    let store = try sandbox.open()
    let body = TestBody.make(100_000, seed: 4)
    var written: StagedBody?
    do {
      let writer = try store.makeWriter(for: "k")
      try writer.write(body)
      written = writer.written
      if commits { try writer.commit() } else { writer.discard() }
    }
    #expect(try written?.read(at: 99_990, upTo: 100) == Array(body[99_990...]))
    if commits { try store.remove("k") }
    #expect(try written?.read(at: 0, upTo: 10) == Array(body[..<10]))
    #expect(sandbox.bodies.isEmpty)
  }

  @Test func `what is written after it was cut off is still not read as what it is not`() throws {
    let store = try sandbox.open()
    let writer = try store.makeWriter(for: "k")
    try writer.write(TestBody.make(1000, seed: 5))
    let name = try #require(
      sandbox.tree("staging").first { !$0.value.isDirectory && $0.value.length == 1000 }?.key)
    sandbox.overwrite(name, Array(sandbox.bytes(name).prefix(10)))
    #expect(try writer.written.read(at: 0, upTo: 1000).count == 10)
    #expect(try writer.written.read(at: 500, upTo: 10) == [])
  }

  @Test func `any number of bytes may be asked for`() throws {
    let writer = try sandbox.open().makeWriter(for: "k")
    try writer.write([1, 2, 3])
    for count in [3, 4, .max] {
      #expect(try writer.written.read(at: 1, upTo: count) == [2, 3])
    }
    #expect(try writer.written.read(at: 0, upTo: -1) == [])
    #expect(try writer.written.read(at: .max, upTo: .max) == [])
  }

  @Test func `a read that fails names the file in staging`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    let writer = try store.makeWriter(for: "k")
    try writer.write([1, 2, 3])
    files.faults.set { $0.kind == .read ? SystemError(EIO) : nil }
    let error = #expect(throws: StoreError.self) { try writer.written.read(at: 0, upTo: 3) }
    files.faults.set(nil)
    #expect(error?.code == .inputOutput)
    #expect(error?.path.hasPrefix(sandbox.inside("staging/")) == true)
    #expect(error?.errno == EIO)
  }

  @Test func `many threads read while one writes`() async throws {
    let store = try sandbox.open()
    let body = TestBody.make(400_000, seed: 6)
    let writer = try store.makeWriter(for: "k")
    let written = writer.written
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var offset = 0
          while offset < body.count {
            let piece = try written.read(at: UInt64(offset), upTo: 10_000)
            if piece != Array(body[offset..<offset + piece.count]) { return false }
            offset += piece.count
            if piece.isEmpty { await Task.yield() }
          }
          return true
        }
      }
      for start in stride(from: 0, to: body.count, by: 8_000) {
        try writer.write(Array(body[start..<min(body.count, start + 8_000)]))
        await Task.yield()
      }
      for try await isRight in group { #expect(isRight) }
    }
  }
}
