import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct JournalReaderLoadTests {
  let sandbox = StoreSandbox()

  @Test(arguments: [SystemError(EMFILE), SystemError(EACCES)])
  func `a journal that cannot be read once more is read before it is used`(
    error: SystemError
  ) throws {
    let files = FaultyFiles()
    var options = Options(fileSystem: files)
    options.journal = JournalSizes(segmentBytes: 4_096)
    let store = try sandbox.open(options, settling: .within(seconds: 3_600))
    for number in 0..<60 { try store.put([UInt8(number)], for: ByteString("\(number)")) }
    try #require(sandbox.segments.count > 2)
    let end = store.catalog.state.withLock { $0.journal.sequence }
    let segments = Set(sandbox.segments.dropFirst().map { $0.dropFirst("journal/".count) })
    files.faults.set { call in
      call.kind == .open && segments.contains(Substring(call.name)) ? error : nil
    }
    _ = try? store.catalog.writer.noteLostRecords(through: end)
    for number in 0..<60 {
      let key = ByteString("\(number)")
      if let found = store.lookUp(key).entry { #expect(found.body == [UInt8(number)]) }
    }
    _ = try? store.put([99], for: "new")
    files.faults.set(nil)
    store.waitUntilIdle()
    try store.put([100], for: "new")
    store.close()
    let again = try sandbox.open()
    for number in 0..<60 {
      #expect(again.lookUp(ByteString("\(number)")).entry?.body == [UInt8(number)])
    }
    #expect(again.lookUp("new").entry?.body == [100])
    again.close()
  }
}
