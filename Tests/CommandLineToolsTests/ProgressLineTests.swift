import Testing

@testable import CommandLineTools

@Suite struct ProgressLineTests {
  @Test(
    arguments: [
      (Progress(done: 0, total: nil, bytes: 0, seconds: 0), "0  0 B"),
      (Progress(done: 3, total: nil, bytes: 3072, seconds: 2), "3  3.0 KiB  1.5 KiB/s"),
      (
        Progress(done: 5, total: 10, bytes: 2048, seconds: 5),
        "[===========>           ]   50%  5/10  2.0 KiB  409 B/s  0:05 left"
      ),
      (
        Progress(done: 10, total: 10, bytes: 0, seconds: 5),
        "[==============================]  100%  10/10  0 B  0 B/s"
      ),
      (
        Progress(done: 9, total: 10, bytes: 1024, totalBytes: 4096, seconds: 5),
        "[=====>                 ]   25%  9/10  1.0 KiB  204 B/s  0:15 left"
      ),
      (
        Progress(
          done: 0, total: 1, bytes: 3072, bytesBefore: 2048, totalBytes: 4096, seconds: 4),
        "[==================>     ]   75%  0/1  3.0 KiB  256 B/s  0:04 left"
      ),
      (
        Progress(
          done: 0, total: 1, bytes: 2048, bytesBefore: 2048, totalBytes: 4096, seconds: 4),
        "[===============>              ]   50%  0/1  2.0 KiB  0 B/s"
      ),
      (
        Progress(done: 5, total: 10, bytes: 0, totalBytes: 0, seconds: 2),
        "[===============>              ]   50%  5/10  2/s  0:02 left"
      ),
      // A sparse file, or several.
      (Progress(done: 3, total: nil, bytes: .max, seconds: 0.5), "3  16.0 EiB  8.0 EiB/s"),
    ])
  func `progress is one line`(progress: Progress, line: String) {
    #expect(progress.line(width: 66) == line)
  }

  @Test(arguments: 1...100)
  func `progress never exceeds the width`(width: Int) {
    let progress = Progress(done: 12_345, total: 99_999, bytes: 1 << 40, seconds: 1000)
    #expect(progress.line(width: width).count <= width)
  }

  @Test(
    arguments: [(0, "0:00"), (4.2, "0:05"), (65, "1:05"), (3725, "1:02:05"), (1e9, "99:59:59")]
      as [(Double, String)])
  func `seconds are written as a clock does`(seconds: Double, text: String) {
    #expect(clockTime(seconds) == text)
  }
}
