import Testing

@testable import CurlHTTP

struct TransferLoadTests {
  private func load(_ running: Int, bufferBytes: Int = 256 * 1024) -> TransferLoad {
    let load = TransferLoad(bufferBytes: bufferBytes)
    for _ in 0..<running { load.add() }
    return load
  }

  @Test(
    "the more transfers run, the smaller are their buffers",
    arguments: [
      (0, 65_536, 262_144), (1, 65_536, 262_144), (16, 65_536, 262_144), (64, 16_384, 65_536),
      (256, 4_096, 16_384), (1_000, 4_096, 8_192), (100_000, 4_096, 8_192),
    ])
  func shares(running: Int, readBytes: Int, capacity: Int) {
    let load = load(running)
    #expect(load.readBytes == readBytes)
    #expect(load.capacity == capacity)
  }

  @Test("a bound of the caller's holds, but for room for one piece")
  func bound() {
    #expect(load(1, bufferBytes: 100_000).capacity == 100_000)
    #expect(load(1, bufferBytes: 1).capacity == 8_192)
  }

  @Test("what ends gives its share back")
  func removal() {
    let load = load(65)
    for _ in 0..<64 { load.remove() }
    #expect(load.readBytes == 65_536)
  }
}
