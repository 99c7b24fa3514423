import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct StoreEntriesTests {
  let sandbox = StoreSandbox()

  @Test func `a store that could not read a folder once looks again`() throws {
    let first = try sandbox.open()
    for number in 0..<20 { try first.put([UInt8(number)], for: ByteString("\(number)")) }
    let shard = Layout.shard(Layout.shardNumber(of: first.catalog.hash("7"))).text
    first.close()
    sandbox.remove("journal")
    let files = FaultyFiles()
    let store = try sandbox.open(Options(isReadOnly: true, fileSystem: files))
    files.faults.set { $0.kind == .open && $0.name == shard ? SystemError(EMFILE) : nil }
    #expect(store.entries().allSatisfy { $0.key != "7" })
    files.faults.set(nil)
    #expect(Set(store.entries().map(\.key)).count == 20)
    #expect(store.lookUp("7").entry?.body == [7])
    store.close()
  }

  @Test func `an iteration goes on while entries are removed and stored`() throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    for number in 0..<600 { try store.put([1], for: ByteString("\(number)")) }
    var seen: Set<ByteString> = []
    for entry in store.entries() {
      #expect(seen.insert(entry.key).inserted)
      if seen.count == 100 {
        for number in 0..<300 { try store.remove(ByteString("\(number)")) }
        try store.put([2], for: "new")
      }
    }
    for number in 300..<600 { #expect(seen.contains(ByteString("\(number)"))) }
    store.close()
  }
}
