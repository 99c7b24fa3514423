import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

/// Two bodies of 512 bytes with the same XXH3-128 (seed 0), made as an attacker would: in the same
/// lane of two stripes, the halves of a word change places, so that the products stay the same and
/// the sums cancel each other out.
enum CollidingBodies {
  /// The first two words of the default secret of XXH3 (xxHash specification, "XXH3_SECRET").
  private static let secret: [UInt64] = [0xbe4b_a423_396c_feb8, 0x1cad_21f7_2c81_017c]

  static func make() -> (first: [UInt8], second: [UInt8]) {
    func bit(_ word: UInt64, _ place: Int) -> Int { Int(word >> UInt64(place) & 1) }
    // The halves of both words differ in one bit, for which both secrets behave alike.
    let place = (0..<32).first { place in
      bit(secret[0], place) ^ bit(secret[0], place + 32)
        == bit(secret[1], place) ^ bit(secret[1], place + 32)
    }!
    var bodies = [[UInt8](repeating: 0x41, count: 512), [UInt8](repeating: 0x41, count: 512)]
    for (stripe, word) in secret.enumerated() {
      // In the second stripe the change has the opposite sign.
      let isHigh = bit(secret[0], place + 32) ^ bit(word, place + 32) ^ stripe
      let low: UInt64 = 0x2f3a_1b5c & ~(1 << UInt64(place)) | UInt64(isHigh) << UInt64(place)
      let high = low ^ 1 << UInt64(place)
      for (number, keyed) in [high << 32 | low, low << 32 | high].enumerated() {
        unsafe withUnsafeBytes(of: (keyed ^ word).littleEndian) {
          unsafe bodies[number].replaceSubrange(64 * stripe..<64 * stripe + 8, with: $0)
        }
      }
    }
    return (bodies[0], bodies[1])
  }
}

@Suite struct KeyFilesBodyTests {
  let sandbox = StoreSandbox()
  let english = CollidingBodies.make().first
  let german = CollidingBodies.make().second

  @Test func `the bodies of this test collide`() {
    #expect(english != german)
    #expect(Digest(hashing: english) == Digest(hashing: german))
  }

  @Test(arguments: [false, true])
  func `two variants with the same digest keep their own bytes`(isStreamed: Bool) throws {
    let store = try sandbox.open()
    func put(_ body: [UInt8], _ variant: UInt64) throws {
      if !isStreamed {
        try store.put(body, for: "page", variant: variant)
        return
      }
      let writer = try store.makeWriter(for: "page", variant: variant)
      try writer.write(body)
      try writer.commit()
    }
    try put(english, 1)
    try put(german, 2)
    // Storing them again changes nothing, in whatever order.
    try put(german, 2)
    try put(english, 1)
    try expectBoth(in: store)
    store.close()
    let again = try sandbox.open()
    try expectBoth(in: again)
    #expect(try again.remove("page", variant: 1) == 1)
    #expect(again.lookUp("page", variant: 2).entry?.body == german)
    #expect(try again.remove("page", variant: 2) == 1)
    #expect(sandbox.bodies == [])
  }

  private func expectBoth(in store: Store) throws {
    for (variant, body) in [(UInt64(1), english), (2, german)] {
      #expect(store.lookUp("page", variant: variant).entry?.body == body)
      guard case .hit(_, let reader) = store.read("page", variant: variant) else {
        Issue.record("variant \(variant) is a miss")
        return
      }
      #expect(try reader.read(upTo: 1000) == body)
      try reader.verify()
    }
  }

  @Test func `an entry keeps its bytes when another body with its digest replaces it`() throws {
    let store = try sandbox.open()
    try store.put(english, for: "page")
    try store.put(german, for: "page")
    #expect(store.lookUp("page").entry?.body == german)
    #expect(sandbox.bodies.count == 1)
  }

  @Test func `colliding bodies survive the loss of the journal`() throws {
    let store = try sandbox.open()
    try store.put(english, for: "page", variant: 1)
    try store.put(german, for: "page", variant: 2)
    store.close()
    for segment in sandbox.segments { sandbox.remove(segment) }
    let again = try sandbox.open()
    again.waitUntilIdle()
    try expectBoth(in: again)
  }

  @Test(arguments: [false, true], [false, true])
  func `a body that could not be synced is written anew`(isShared: Bool, isSame: Bool) throws {
    let volume = SimulatedVolume()
    func open(_ durability: Durability, boot: UInt8 = 1, on volume: SimulatedVolume) throws -> (
      Store, SimulatedProcess
    ) {
      let process = SimulatedProcess(on: volume)
      var options = Options(settling: .atOnce, fileSystem: process)
      options.durability = durability
      options.bootName = [boot]
      return (try Store(at: CrashScenario.path, options: options), process)
    }
    let body = [UInt8](repeating: 7, count: 3_000)
    let (first, _) = try open(.process, on: volume)
    try first.put(body, for: "first")
    let (second, process) = try open(.full, on: volume)
    let variant: UInt64 = isShared ? 0 : 1
    let key: ByteString = isShared ? "second" : "first"
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) {
        $0.kind == .synchronize && $0.name.hasSuffix(".body")
      })
    #expect(throws: StoreError.self) { try second.put(body, for: key, variant: variant) }
    // It need not be the same program that tries again.
    let (third, _) = try isSame ? (second, process) : open(.full, on: volume)
    try third.put(body, for: key, variant: variant)
    let (left, _) = try open(
      .full, boot: 2, on: volume.afterPowerLoss(.posix, seed: nil))
    #expect(left.lookUp(key, variant: variant).entry?.body == body)
    left.close()
    third.close()
    second.close()
    first.close()
  }
}
