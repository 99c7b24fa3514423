import CacheSystem
import Foundation
import Testing

@testable import CacheClient

@Suite struct SubstituteFileTests {
  private let folder = SubstituteFolder()

  private func error(_ work: () throws(SystemError) -> Void) -> SystemError? {
    do throws(SystemError) { try work() } catch { return error }
    return nil
  }

  @Test func `any part can be read, up to the last byte, and nothing beyond it`() throws {
    let file = try SubstituteFile(path: try folder.write("a", "0123456789"))
    #expect(file.status.length == 10)
    for (offset, count) in [(0, 10), (0, 0), (9, 1), (10, 0), (3, 4)] {
      let bytes = try file.read(at: UInt64(offset), count: count)
      #expect(bytes == Array("0123456789".utf8.dropFirst(offset).prefix(count)))
    }
    for (offset, count) in [(0, 11), (10, 1), (11, 1)] as [(UInt64, Int)] {
      #expect(
        error { () throws(SystemError) in _ = try file.read(at: offset, count: count) }
          == .wrongLength)
    }
  }

  /// What happens to a file while it is read.
  enum Change: CaseIterable { case longer, shorter, emptied, rewritten, touched }

  @Test(arguments: Change.allCases)
  func `a file that is changed is read no more, in no part`(change: Change) throws {
    let path = try folder.write("a", "0123456789")
    let file = try SubstituteFile(path: path)
    #expect(try file.read(at: 0, count: 5).count == 5)
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    switch change {
    case .longer:
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("x".utf8))
    case .shorter: try handle.truncate(atOffset: 9)
    case .emptied: try handle.truncate(atOffset: 0)
    case .rewritten: try handle.write(contentsOf: Data("9876543210".utf8))
    case .touched:
      try FileManager.default.setAttributes(
        [.modificationDate: Date.distantPast], ofItemAtPath: path)
    }
    try handle.close()
    for count in [0, 1, 5] {
      #expect(
        error { () throws(SystemError) in _ = try file.read(at: 0, count: count) } == .wrongLength)
    }
    #expect(error { () throws(SystemError) in _ = try file.digest() } == .wrongLength)
    #expect(
      try SubstituteFile(path: path).digest() != Digest(hashing: Array("0123456789".utf8))
        || change == .touched)
  }

  @Test func `a file that is replaced or removed is read to its end`() throws {
    let path = try folder.write("a", "0123456789")
    let file = try SubstituteFile(path: path)
    #expect(unsafe rename(try folder.write("b", "new"), path) == 0)
    #expect(try file.read(at: 5, count: 5) == Array("56789".utf8))
    try folder.remove("a")
    #expect(try file.digest() == Digest(hashing: Array("0123456789".utf8)))
  }

  @Test func `the tag is that of the content, until the content changes`() throws {
    let digests = SubstituteDigests()
    let content = Array("0123456789".utf8)
    let path = try folder.write("a", content)
    let file = try SubstituteFile(path: path)
    let tag = try digests.tag(of: file, nil)
    #expect(try tag == digests.tag(of: file, content) && tag == digests.tag(of: file, nil))
    #expect(tag == "\"\(Digest(hashing: content))\"")
    // The same content in another file has the same tag, and another one in the same file not.
    let copy = try SubstituteFile(path: try folder.write("b", content, modified: 1))
    #expect(try digests.tag(of: copy, nil) == tag)
    let new = try SubstituteFile(path: try folder.write("a", "9876543210", modified: 2))
    #expect(try digests.tag(of: new, nil) != tag)
    let empty = try SubstituteFile(path: try folder.write("c", ""))
    #expect(try digests.tag(of: empty, nil) == digests.tag(of: empty, []))
  }

  @Test func `a long file has a tag of its length and time, and is not read for it`() throws {
    let path = try folder.write("a", "")
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    let digests = SubstituteDigests()
    var tags: Set<String> = []
    for extra in [0, 1, 2] as [UInt64] {
      try handle.truncate(atOffset: ResponseCache.verifiedBytes + extra)
      let file = try SubstituteFile(path: path)
      tags.insert(try digests.tag(of: file, nil))
    }
    try handle.close()
    #expect(tags.count == 3)
    #expect(tags.filter { $0.contains("-") }.count == 2)
  }

  @Test func `no names are no file`() {
    #expect(
      error { () throws(SystemError) in _ = try SubstituteFile([], below: folder.path) }
        == .notFound)
    #expect(
      error { () throws(SystemError) in _ = try SubstituteFile([[]], below: folder.path) }
        == .notFound)
    let long = [[UInt8](repeating: 65, count: 256)]
    #expect(
      error { () throws(SystemError) in _ = try SubstituteFile(long, below: folder.path) } != nil)
  }
}
