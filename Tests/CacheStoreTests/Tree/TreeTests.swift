import CLibrary
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct TreeTests {
  private let sandbox = StoreSandbox()
  private let files = FaultyFiles()

  @Test func `whether a sync has failed must be known`() throws {
    let store = try sandbox.open(Options(fileSystem: files))
    let tree = store.catalog.tree
    #expect(try !tree.writesBodiesAnew())
    for code in [EMFILE, EIO, ENOMEM] {
      files.faults.set { $0.kind == .open && $0.name == "unsynced" ? SystemError(code) : nil }
      #expect(throws: SystemError(code)) { try tree.writesBodiesAnew() }
    }
    files.faults.set(nil)
    tree.noteUnsyncedBody()
    #expect(try tree.writesBodiesAnew())
    store.close()
  }
}
