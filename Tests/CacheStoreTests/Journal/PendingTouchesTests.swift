import CacheFormat
import CacheStore
import Testing

@Suite struct PendingTouchesTests {
  let sandbox = StoreSandbox()
  let clock = SteppingClock(step: 1_000)

  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func fill() throws -> (reader: Store, other: Store) {
    let reader = try sandbox.open(Options(clock: clock))
    for number in 0..<200 {
      try reader.put(TestBody.make(1_000, seed: UInt64(number)), for: key(number))
    }
    return (reader, try sandbox.open(Options(clock: clock)))
  }

  @Test(arguments: [false, true])
  func `what another process has just read is not evicted`(isStreamed: Bool) throws {
    let (reader, other) = try fill()
    for number in 0..<100 {
      if !isStreamed {
        #expect(reader.lookUp(key(number)).entry != nil)
      } else if case .miss = reader.read(key(number)) {
        Issue.record("\(number) is a miss")
      }
    }
    try other.setLimits(Limits(entries: 120))
    for number in 0..<200 where number < 100 || number >= 180 {
      #expect(reader.info(for: key(number)) != nil, "\(number)")
    }
    #expect(reader.statistics.entries == 120)
  }

  @Test func `a put at the limit evicts nothing that another process has just read`() throws {
    let (reader, other) = try fill()
    try other.setLimits(Limits(entries: 200))
    for number in 0..<100 { #expect(reader.lookUp(key(number)).entry != nil) }
    for number in 200..<230 { try other.put([UInt8(number)], for: key(number)) }
    other.waitUntilIdle()
    for number in 0..<100 { #expect(reader.info(for: key(number)) != nil, "\(number)") }
    #expect(reader.info(for: key(100)) == nil)
  }

  @Test func `a process that reads all the time does not keep another from trimming`() throws {
    let (reader, other) = try fill()
    let task = Task.detached {
      while !Task.isCancelled {
        for number in 0..<100 { _ = reader.lookUp(ByteString("k\(number)")) }
      }
    }
    #expect(try other.trim(toBytes: 1) > 0)
    #expect(other.statistics.entries == 0)
    task.cancel()
  }
}
