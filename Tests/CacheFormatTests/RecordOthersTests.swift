import Testing

@testable import CacheFormat

@Suite struct RecordOthersTests {
  @Test func `short payloads are refused or cut, never read past their end`() {
    for count in 0..<80 {
      let payload = [UInt8](repeating: 0xff, count: count)
      #expect((RemoveRecord(payload: payload) != nil) == (count >= 32))
      #expect((LimitsRecord(payload: payload) != nil) == (count >= 48))
      #expect((SealRecord.next(payload: payload) != nil) == (count >= 8))
      #expect((DropRecord.through(payload: payload) != nil) == (count >= 8))
      #expect(TouchRecord.touches(payload: payload).count == count / 32)
    }
  }

  @Test(arguments: RemovalReason.allCases)
  func `a reason comes back`(reason: RemovalReason) {
    let record = RemoveRecord(keyHash: RecordGolden.keyHash, variant: 1, reason: reason)
    #expect(RemoveRecord(payload: Array(record.bytes.dropFirst(32))) == record)
  }

  @Test func `a reason of a newer version is taken for asked`() {
    var payload = Array(RecordCase.remove.bytes.dropFirst(32))
    payload[24] = 99
    #expect(RemoveRecord(payload: payload)?.reason == .asked)
  }

  @Test func `values of a newer version after the limits are passed over`() {
    let payload = Array(RecordCase.limits.bytes.dropFirst(32))
    #expect(LimitsRecord(payload: payload + [1, 2, 3, 4, 5, 6, 7, 8]) == RecordCase.limits)
  }
}
