import Foundation
import TestSupport
import Testing

@testable import OfflineCacheKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct FilePlaceTests {
  private let folder = TemporaryFolder()

  private func code(_ url: URL) -> URLError.Code? {
    do throws(URLError) { _ = try FilePlace(url) } catch { return error.code }
    return nil
  }

  @Test func `a path is kept as it is, with odd characters and all`() throws {
    for name in [
      "a", "a b", "ü", "a%20b", "#", "?", "a\nb", "a;b", "..a", String(repeating: "x", count: 255),
    ] {
      let path = "\(folder.path)/\(name)"
      #expect(try FilePlace(URL(fileURLWithPath: path)).path == path)
    }
  }

  @Test func `what is no URL of a file is refused`() throws {
    for text in ["http://h/a", "https:a", "a", "data:,a"] {
      #expect(code(try #require(URL(string: text))) == .unsupportedURL, "\(text)")
    }
  }

  @Test func `only a regular file is replaced, and in place of a link its target, if there is one`()
    throws
  {
    let files = FileManager.default
    let path = folder.path
    try Data().write(to: URL(fileURLWithPath: path + "/file"))
    try files.createDirectory(atPath: path + "/folder", withIntermediateDirectories: false)
    #expect(unsafe mkfifo(path + "/pipe", 0o600) == 0)
    for (name, target) in [
      ("link", "file"), ("dangling", "dangling"), ("away", "folder"), ("loop", "loop"),
    ] {
      try files.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
    }
    func place(_ name: String) throws -> String {
      String(try FilePlace(URL(fileURLWithPath: "\(path)/\(name)")).path.dropFirst(path.count + 1))
    }
    for (name, expected) in [("file", "file"), ("link", "file"), ("dangling", "dangling")] {
      #expect(try place(name) == expected)
    }
    for name in ["folder", "away", "."] {
      #expect(code(URL(fileURLWithPath: "\(path)/\(name)")) == .fileIsDirectory, "\(name)")
    }
    #expect(code(URL(fileURLWithPath: path + "/pipe")) == .cannotCreateFile)
    #expect(code(URL(fileURLWithPath: "/dev/null")) == .cannotCreateFile)
    #expect(code(URL(fileURLWithPath: path + "/.offlinecache-a.part")) == .cannotCreateFile)
  }
}
