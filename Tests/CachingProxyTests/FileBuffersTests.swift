import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import CachingProxy

@Suite("Buffers for files") struct FileBuffersTests {
  /// Calls with a descriptor of a file that holds so many bytes, which count up.
  private func withFile(of count: Int, _ body: (Int32) -> Void) throws {
    let folder = TemporaryFolder()
    let file = folder.url.appending(path: "file")
    try Data((0..<count).map { UInt8(truncatingIfNeeded: $0) }).write(to: file)
    let handle = try FileHandle(forReadingFrom: file)
    body(handle.fileDescriptor)
    try handle.close()
  }

  @Test func `have the bytes of the part`() throws {
    try withFile(of: 1_000) { file in
      let buffer = FileBuffers().read(file, at: 300, length: 500)
      let bytes = buffer.map { unsafe Array($0.bytes) }
      #expect(bytes == (300..<800).map { UInt8(truncatingIfNeeded: $0) })
    }
  }

  @Test func `are not for parts that are too long, empty, or beyond the end`() throws {
    try withFile(of: FileBuffers.largestBytes + 1) { file in
      let buffers = FileBuffers()
      let longest = UInt64(FileBuffers.largestBytes)
      let count = unsafe buffers.read(file, at: 1, length: longest)?.bytes.count
      #expect(count == Int(longest))
      #expect(buffers.read(file, at: 0, length: longest + 1) == nil)
      #expect(buffers.read(file, at: 2, length: longest) == nil)
      #expect(buffers.read(file, at: 0, length: 0) == nil)
    }
  }

  @Test func `are as many at a time as are allowed`() throws {
    try withFile(of: 10) { file in
      let buffers = FileBuffers(most: 3)
      // Parts that cannot be read take nothing.
      for _ in 0..<5 { #expect(buffers.read(file, at: 9, length: 2) == nil) }
      var held = (0..<3).map { _ in buffers.read(file, at: 0, length: 10) }
      #expect(held.allSatisfy { $0 != nil })
      #expect(buffers.read(file, at: 0, length: 10) == nil)
      held.removeLast()
      #expect(buffers.read(file, at: 0, length: 10) != nil)
    }
  }
}
