import CacheFormat
import CacheStore
import StoreChecking
import Testing

/// The damage of the files of an entry whose record in the journal still carries the body.
struct FileDamage: Sendable, CustomStringConvertible {
  let description: String
  let damage: @Sendable (CheckSandbox) throws -> Void

  static let all = [
    FileDamage(description: "a changed body") { try $0.flip(try $0.body(), at: 7) },
    FileDamage(description: "a body that was cut off") { try $0.write(try $0.body(), [1]) },
    FileDamage(description: "a body that is too long") {
      try $0.write(try $0.body(), CarriedBodyTests.content + [1])
    },
    FileDamage(description: "a missing body") { try $0.remove(try $0.body()) },
    FileDamage(description: "a missing directory") {
      try $0.removeTree(try #require(try $0.keys().first))
    },
  ]
}

@Suite struct CarriedBodyTests {
  static let content = [UInt8]((0..<180).map { UInt8($0) })

  @Test(
    "the files of a settled entry are written again from the journal", arguments: FileDamage.all)
  func repair(_ damage: FileDamage) throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .within(seconds: 60)))
    try store.put(Self.content, for: "page", metadata: EntryMetadata(status: 200))
    try store.settle()
    store.close()
    try damage.damage(sandbox)

    #expect(try !sandbox.check(.deep).findings.isEmpty)
    #expect(try sandbox.repair(.all, .deep).unrepaired == [])
    #expect(try sandbox.check(.deep).findings.isEmpty)
    // Now the files are sufficient.
    try sandbox.removeTree("journal")
    let again = try Store(at: sandbox.root)
    again.waitUntilIdle()
    let entry = again.lookUp("page").entry
    #expect(entry?.body == Self.content && entry?.info.status == 200)
    again.close()
  }
}
