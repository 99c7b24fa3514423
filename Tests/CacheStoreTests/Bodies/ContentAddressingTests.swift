import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct ContentAddressingTests {
  let sandbox = StoreSandbox()
  let body = TestBody.make(9_000, seed: 77)

  /// The body files of the store with their facts.
  private var files: [FileFacts] {
    sandbox.tree("entries").filter { $0.key.hasSuffix(".body") }.map(\.value)
  }

  @Test func `equal bodies are one file with as many names as entries`() throws {
    let store = try sandbox.open()
    for number in 0..<5 { try store.put(body, for: ByteString("k\(number)")) }
    #expect(Set(files.map(\.inode)).count == 1)
    #expect(files.map(\.links) == [5, 5, 5, 5, 5])
    #expect(store.statistics.sharedBytes == 4 * 9_000)
    try store.remove("k0")
    try store.remove("k3")
    #expect(files.map(\.links) == [3, 3, 3])
    for number in [1, 2, 4] {
      #expect(store.lookUp(ByteString("k\(number)")).entry?.body == body)
    }
    // Shared also with what another process, and a writer, have stored.
    let other = try sandbox.open()
    let writer = try other.makeWriter(for: "w")
    try writer.write(body)
    try writer.commit()
    #expect(files.map(\.links) == [4, 4, 4, 4])
    #expect(sandbox.tree("staging").filter { !$0.value.isDirectory }.isEmpty)
  }

  @Test func `bytes are compared before they are shared`() throws {
    let store = try sandbox.open()
    try store.put(body, for: "first")
    // The name of the body, its length, other bytes: what a crafted collision would look like.
    var foreign = body
    foreign[4_000] ^= 1
    sandbox.overwrite(try #require(sandbox.bodies.first), foreign)
    try store.put(body, for: "second")
    #expect(store.lookUp("second").entry?.body == body)
    let names = sandbox.bodies
    #expect(names.count == 2)
    #expect(Set(names.map { sandbox.bytes($0) == body }) == [true, false])
    #expect(Set(files.map(\.inode)).count == 2)
    #expect(store.lookUp("first").entry == nil)
  }

  @Test func `a file of the right name in the way of a new body is not taken for it`() throws {
    let store = try sandbox.open()
    try store.put(body, for: "k")
    let name = try #require(sandbox.bodies.first)
    var foreign = body
    foreign[0] ^= 1
    sandbox.overwrite(name, foreign)
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
    #expect(sandbox.bytes(name) == body)
  }

  @Test(arguments: [EMLINK, EPERM, EXDEV, ENOTSUP])
  func `where a link is refused a copy is written`(code: Int32) throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(body, for: "a")
    files.faults.set { $0.kind == .link ? SystemError(code) : nil }
    try store.put(body, for: "b")
    let writer = try store.makeWriter(for: "c")
    try writer.write(body)
    try writer.commit()
    for key: ByteString in ["a", "b", "c"] { #expect(store.lookUp(key).entry?.body == body) }
    #expect(Set(self.files.map(\.inode)).count == 3)
    #expect(files.faults.calls.contains { $0.kind == .link })
    #expect(store.statistics.sharedBytes == 0)
    // The accounting has the copies, also after their removal in any order.
    files.faults.set(nil)
    try store.remove("b")
    #expect(store.lookUp("a").entry?.body == body)
    try store.remove("a")
    try store.remove("c")
    #expect(store.statistics.logicalBytes == 0)
    #expect(sandbox.bodies == [])
  }

  @Test func `changing metadata does not touch the body`() throws {
    let store = try sandbox.open()
    try store.put(body, for: "k", metadata: EntryMetadata(status: 200))
    let before = files
    try store.update("k") { $0.status = 304 }
    try store.pin("k")
    try store.unpin("k")
    try store.put(body, for: "k", metadata: EntryMetadata(status: 201))
    #expect(files == before)
    #expect(store.info(for: "k")?.status == 201)
  }
}
