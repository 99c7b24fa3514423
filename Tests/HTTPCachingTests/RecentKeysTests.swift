import CacheFormat
import Testing

@testable import HTTPCaching

struct RecentKeysTests {
  @Test func `the last keys are remembered until they are removed, with their latest time`() {
    let keys = RecentKeys(maximumCount: 3)
    #expect(keys.time(of: "a") == nil)
    keys.remove("a")
    for time in [5, 3] as [Int64] { keys.insert("a", at: moment(time)) }
    #expect(keys.time(of: "a") == moment(5) && keys.time(of: "b") == nil)
    for key in ["b", "c"] as [ByteString] { keys.insert(key) }
    #expect(keys.time(of: "a") == moment(5) && keys.time(of: "c") == .distantPast)
    keys.insert("d")
    #expect(keys.time(of: "a") == nil && keys.time(of: "b") != nil && keys.time(of: "d") != nil)
    keys.remove("c")
    #expect(keys.time(of: "c") == nil)
    keys.insert("e")
    #expect(keys.time(of: "b") != nil && keys.time(of: "d") != nil && keys.time(of: "e") != nil)
  }
}
