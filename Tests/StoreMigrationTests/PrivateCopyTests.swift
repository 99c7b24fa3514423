import CacheSystem
import Testing

@testable import StoreMigration

@Suite struct PrivateCopyTests {
  @Test func `a file that grows while it is copied is copied to the end that it had`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.write("source", Array(repeating: 7, count: 3_000_000))
    let folder = try TemporaryFolder(in: sandbox.path)
    try PrivateCopy.copy(source, 2_000_000, to: "copy", in: folder)
    let copy = try RealFileSystem().status(userPath: "\(folder.path)/copy")
    #expect(copy.length == 2_000_000)
  }
}
