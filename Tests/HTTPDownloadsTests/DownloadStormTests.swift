import ClientTesting
import Testing

@testable import HTTPDownloads

/// Impatient users.
struct DownloadStormTests {
  @Test(.timeLimit(.minutes(2)), arguments: 1...4 as ClosedRange<UInt64>)
  func `pauses, cancels and joins from many tasks leave the right file or none`(
    seed: UInt64
  ) async throws {
    let sandbox = DownloadSandbox()
    let big = content(600_000)
    let server = FileServer(big)
    let downloaders = (0..<2).map { _ in sandbox.downloader(server, transfers: 3, perHost: 2) }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          var random = SplitMix64(seed: seed &* 1000 &+ UInt64(number))
          let name = "\(number % 5)"
          let download = downloaders[number % 2].start(
            sandbox.asked(name, url: "/\(number % 3)"))
          for _ in 0..<Int(random.next() % 20) {
            if random.next() % 2 == 0 { download.pause() } else { download.resume() }
            if random.next() % 3 == 0 { await Task.yield() }
          }
          if random.next() % 3 == 0 { download.cancel() }
          download.resume()
          _ = try? await download.value()
          if let bytes = sandbox.bytes(name) { #expect(bytes == big) }
        }
      }
    }
    for name in 0..<5 {
      _ = try await downloaders[0].download(sandbox.asked("\(name)", url: "/\(name % 3)"))
      #expect(sandbox.bytes("\(name)") == big)
    }
    #expect(sandbox.names == Array(repeating: ".json", count: 5) + ["0", "1", "2", "3", "4"])
  }
}
