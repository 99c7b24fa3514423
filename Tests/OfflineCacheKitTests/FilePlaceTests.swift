import TestSupport
import Testing

@testable import OfflineCacheKit

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

  @Test func `only a regular file or a link is replaced`() throws {
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
    for name in ["file", "link", "dangling", "away", "loop"] {
      #expect(
        try FilePlace(URL(fileURLWithPath: "\(path)/\(name)")).path == "\(path)/\(name)")
    }
    for name in ["folder", "."] {
      #expect(code(URL(fileURLWithPath: "\(path)/\(name)")) == .fileIsDirectory, "\(name)")
    }
    #expect(code(URL(fileURLWithPath: path + "/pipe")) == .cannotCreateFile)
    #expect(code(URL(fileURLWithPath: "/dev/null")) == .cannotCreateFile)
    #expect(code(URL(fileURLWithPath: path + "/.offlinecache-a.part")) == .cannotCreateFile)
  }
}
