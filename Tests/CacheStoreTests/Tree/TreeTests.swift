import CLibrary
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct TreeTests {
  private let sandbox = StoreSandbox()
  private let files = FaultyFiles()

  @Test func `a note of a failed sync that cannot be read counts`() throws {
    let store = try sandbox.open(Options(fileSystem: files))
    let tree = store.catalog.tree
    #expect(!tree.writesBodiesAnew)
    for code in [EMFILE, EIO, ENOMEM] {
      files.faults.set { $0.kind == .open && $0.name == "unsynced" ? SystemError(code) : nil }
      #expect(tree.writesBodiesAnew)
    }
    files.faults.set(nil)
    tree.noteUnsyncedBody()
    #expect(tree.writesBodiesAnew)
    store.close()
  }
}
