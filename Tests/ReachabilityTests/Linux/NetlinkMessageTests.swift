import TestSupport
import Testing

@testable import Reachability

@Suite struct NetlinkMessageTests {
  /// A message with its head; everything in the byte order of the machine.
  private func message(type: UInt16, sequence: UInt32, _ content: [UInt8]) -> [UInt8] {
    raw(UInt32(16 + content.count)) + raw(type) + raw(UInt16(0)) + raw(sequence) + raw(UInt32(7))
      + content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
  }

  private func raw(_ number: some FixedWidthInteger) -> [UInt8] {
    let bytes = (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    return 1.littleEndian == 1 ? bytes : bytes.reversed()
  }

  private func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    raw(UInt16(4 + value.count)) + raw(type) + value
      + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
  }

  private func route(type: UInt8, link: Int32?) -> [UInt8] {
    [2, 32, 0, 0, 254, 2, 0, type] + raw(UInt32(0)) + attribute(1, [193, 0, 14, 129])
      + (link.map { attribute(4, raw($0)) } ?? [])
  }

  private func link(flags: UInt32, _ name: String) -> [UInt8] {
    [0, 0] + raw(UInt16(1)) + raw(Int32(4)) + raw(flags) + raw(UInt32(0))
      + attribute(13, raw(UInt32(1000))) + attribute(3, Array(name.utf8) + [0])
  }

  private func read(_ bytes: [UInt8]) -> [NetlinkMessages.Item] {
    NetlinkMessages.read(bytes.span)
  }

  @Test func `routes, links and refusals are read`() {
    let bytes =
      message(type: 24, sequence: 1, route(type: 1, link: 4))
      + message(type: 16, sequence: 2, link(flags: 0x10043, "wwan0"))
      + message(type: 2, sequence: 3, raw(Int32(-101)) + [UInt8](repeating: 0, count: 16))
      + message(type: 24, sequence: 4, route(type: 7, link: nil))
      + message(type: 3, sequence: 5, [])
    #expect(
      read(bytes) == [
        .init(sequence: 1, message: .route(.init(isUnicast: true, link: 4))),
        .init(
          sequence: 2,
          message: .link(.init(name: "wwan0", isUp: true, isRunning: true, isLoopback: false))),
        .init(sequence: 3, message: .failure(101)),
        .init(sequence: 4, message: .route(.init(isUnicast: false, link: nil))),
        .init(sequence: 5, message: .other),
      ])
  }

  @Test func `what is cut off at any byte gives what is whole and no more`() {
    let first = message(type: 24, sequence: 1, route(type: 1, link: 4))
    let all = first + message(type: 16, sequence: 2, link(flags: 1, "eth0"))
    for count in 0...all.count {
      let items = read(Array(all.prefix(count)))
      #expect(items.count == (count == all.count ? 2 : count >= first.count ? 1 : 0))
    }
  }

  @Test(arguments: 0..<64)
  func `random bytes and wrong lengths are read without harm`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var bytes = message(type: 16, sequence: 2, link(flags: 1, "eth0"))
    bytes += message(type: 24, sequence: 1, route(type: 1, link: 4))
    for _ in 0..<200 {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      _ = read(bytes)
    }
  }
}
