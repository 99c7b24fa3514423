import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct SuspicionTests {
  private let path = Array("entries/00/x".utf8)

  @Test func `kind and path identify it, whatever else is told`() {
    let one = Suspicion(kind: .bodyWrong, path: path, variant: 1, key: [1], detail: "now")
    #expect(one.isSame(as: Suspicion(kind: .bodyWrong, path: path, detail: "then")))
    #expect(
      !one.isSame(as: Suspicion(kind: .bodyLong, path: path, variant: 1, key: [1], detail: "now")))
    #expect(
      !one.isSame(
        as: Suspicion(kind: .bodyWrong, path: path + [0], variant: 1, key: [1], detail: "now")))
  }

  @Test func `it is about its variant, and about all that have its body`() {
    var slot = Slot()
    (slot.variant, slot.digest) = (7, Digest(hashing: [1]))
    #expect(Suspicion(kind: .entryMissing, path: path, variant: 7, detail: "").isAbout(slot))
    #expect(!Suspicion(kind: .entryMissing, path: path, variant: 8, detail: "").isAbout(slot))
    #expect(!Suspicion(kind: .directoryEmpty, path: path, detail: "").isAbout(slot))
    let (body, other) = (Layout.body(slot.digest), Layout.body(Digest(hashing: [2])))
    #expect(
      Suspicion(kind: .bodyWrong, path: path, name: body, variant: 8, detail: "").isAbout(slot))
    #expect(
      !Suspicion(kind: .bodyWrong, path: path, name: other, variant: 8, detail: "").isAbout(slot))
  }

  @Test func `a finding has all that is known of it`() {
    let suspicion = Suspicion(
      kind: .bodyShort, path: path, variant: 1, key: [0xff], detail: "2 bytes")
    #expect(suspicion.finding() == Finding(.bodyShort, path: path, key: [0xff], detail: "2 bytes"))
    let repaired = suspicion.finding(.repaired, lostEntries: 2)
    #expect(repaired.outcome == .repaired && repaired.lostEntries == 2)
  }
}
