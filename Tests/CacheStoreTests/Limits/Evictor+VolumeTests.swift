import CacheSystem
import Testing

@testable import CacheStore

@Suite struct EvictorVolumeTests {
  private let status = VolumeStatus(
    blockBytes: 4096, availableBytes: 1 << 30, availableFiles: 1 << 20)

  /// Returns the room after a query.
  private func queried() -> VolumeRoom {
    var room = VolumeRoom()
    _ = room.take(0, unsettled: 0, of: status, after: room.reasons)
    return room
  }

  @Test func `the volume is queried first, and after many bytes`() {
    var room = VolumeRoom()
    #expect(room.take(1, unsettled: 0) == nil)
    #expect(room.take(1, unsettled: 2, of: status, after: room.reasons) == (1 << 30) - 3)
    #expect(room.take(VolumeRoom.recheckBytes, unsettled: 0) != nil)
    #expect(room.take(0, unsettled: 0) == nil)
  }

  @Test func `bytes beyond all bounds leave nothing free`() {
    var room = queried()
    #expect(room.take(.max, unsettled: 0) == 0)
    room = queried()
    #expect(room.take(10, unsettled: .max - (1 << 27)) == nil)
  }

  /// Otherwise a thread could take the wish for a query for a full volume, and evict an entry.
  @Test func `what is not known is no full volume`() {
    var room = queried()
    room.expire()
    #expect(room.take(1, unsettled: 0) == nil)
  }

  @Test func `a reason that comes during a query leads to another one`() {
    var room = queried()
    room.expire()
    let reasons = room.reasons
    room.expire()
    #expect(room.take(1, unsettled: 0, of: status, after: reasons) == (1 << 30) - 1)
    #expect(room.take(1, unsettled: 0) == nil)
  }
}
