import CacheFormat
import TestSupport
import Testing

@Suite struct ChecksumTests {
  @Test func `the checksum of a part of a buffer is that of its bytes`() {
    var random = SplitMix64(seed: 5)
    let bytes = random.bytes(600)
    for start in [0, 1, 7, 64] {
      for end in [start, start + 1, 255, 256, 600] {
        // Safety: the array is held while the part is read.
        let part = unsafe bytes.withUnsafeBytes { buffer in
          unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[start..<end]), seed: 3)
        }
        #expect(part == Checksum.of(Array(bytes[start..<end]), seed: 3))
      }
    }
    // Safety: there is nothing to read.
    #expect(unsafe Checksum.of(UnsafeRawBufferPointer(start: nil, count: 0)) == Checksum.of([]))
  }

  @Test func `one bit more, one byte more and another seed make another checksum`() {
    var random = SplitMix64(seed: 6)
    for count in [1, 16, 17, 128, 129, 240, 241, 1_025] {
      let bytes = random.bytes(count)
      let checksum = Checksum.of(bytes)
      #expect(Checksum.of(bytes, seed: 1) != checksum)
      #expect(
        Checksum.of(bytes + [0]) != checksum && Checksum.of(Array(bytes.dropLast())) != checksum)
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= 1 << UInt8(index % 8)
        #expect(Checksum.of(changed) != checksum, "byte \(index) of \(count)")
      }
    }
  }
}
