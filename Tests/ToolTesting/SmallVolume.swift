import CLibrary
import Testing

/// A file system in memory with little room.
package struct SmallVolume: ~Copyable {
  package let path: String

  package static let canBeMade: Bool = {
    let tool = ToolRun()
    // Its folder must not go before the volume in it.
    defer { withExtendedLifetime(tool) {} }
    guard let volume = try? SmallVolume(at: tool.path("v"), bytes: 4096) else { return false }
    return exists(volume.path)
  }()

  package init(at path: String, bytes: Int, files: Int? = nil) throws {
    self.path = path
    let options = "size=\(bytes)" + (files.map { ",nr_inodes=\($0)" } ?? "")
    _ = try Self.run("/bin/mkdir", [path])
    try #require(
      try Self.run("/bin/mount", ["-t", "tmpfs", "-o", options, "tmpfs", path]) == 0)
  }

  package func grow(to bytes: Int) throws {
    #expect(try Self.run("/bin/mount", ["-o", "remount,size=\(bytes)", path]) == 0)
  }

  /// Lets it only be read.
  package func makeReadOnly() throws {
    #expect(try Self.run("/bin/mount", ["-o", "remount,ro", path]) == 0)
  }

  deinit { _ = try? Self.run("/bin/umount", [path]) }

  private static func run(_ program: String, _ words: [String]) throws -> Int32 {
    let null = try openFile("/dev/null", O_RDWR)
    defer { close(null) }
    return try Child(program, words.map { Array($0.utf8) }, descriptors: [null, null, null]).wait()
  }
}
