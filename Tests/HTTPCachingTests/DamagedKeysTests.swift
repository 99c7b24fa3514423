import CacheFormat
import Testing

@testable import HTTPCaching

struct DamagedKeysTests {
  @Test func `the last 64 keys are remembered until they are removed`() {
    let keys = DamagedKeys()
    #expect(!keys.contains("0"))
    keys.remove("0")
    for number in 0..<70 {
      // A second time changes nothing.
      for _ in 0..<2 { keys.insert(ByteString("\(number)")) }
    }
    #expect(!keys.contains("5") && keys.contains("6") && keys.contains("69"))
    keys.remove("69")
    #expect(!keys.contains("69") && keys.contains("68"))
  }
}
