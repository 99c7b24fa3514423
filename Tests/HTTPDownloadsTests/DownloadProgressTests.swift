import ClientTesting
import Testing

@testable import HTTPDownloads

@Suite struct DownloadProgressTests {
  @Test func `the rate is that of the last seconds`() {
    var meter = RateMeter()
    let start = ContinuousClock.now
    #expect(meter.note(0, at: start) == nil)
    #expect(meter.note(1000, at: start + .seconds(1)) == 1000)
    for second in 2...20 { _ = meter.note(1000, at: start + .seconds(second)) }
    #expect(meter.note(1000, at: start + .seconds(21)) == 0)
    #expect(meter.note(10, at: start + .seconds(22)) == nil)
  }

  @Test func `a pause has no rate`() {
    let download = Download(DownloadRequest(request("/a"), to: "/f"))
    download.tell { $0.phase = .receiving }
    download.tell { $0.bytesPerSecond = 1000 }
    #expect(download.progress.bytesPerSecond == 1000)
    download.tell { $0.phase = .paused }
    #expect(download.progress.bytesPerSecond == nil)
  }
}
