import CacheFormat
import Testing

@testable import HTTPCaching

struct OutdatedKeysTests {
  @Test func `the last keys are remembered, with their latest time`() {
    let keys = OutdatedKeys()
    #expect(keys.time(of: "a") == nil)
    for time in [5, 3] as [Int64] { keys.insert("a", since: moment(time)) }
    #expect(keys.time(of: "a") == moment(5) && keys.time(of: "b") == nil)
    for number in 1..<OutdatedKeys.maximumCount {
      keys.insert(ByteString("\(number)"), since: moment(1))
    }
    #expect(keys.time(of: "a") == moment(5))
    keys.insert("last", since: moment(1))
    #expect(keys.time(of: "a") == nil && keys.time(of: "1") != nil && keys.time(of: "last") != nil)
  }
}
