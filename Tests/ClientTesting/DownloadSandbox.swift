import Foundation
package import HTTPDownloads

/// A folder for downloads, which goes away with it.
package final class DownloadSandbox: Sendable {
  private let temporary = TemporaryFolder()
  package let clock = TestClock()

  package var folder: String { temporary.path }

  package init() {}

  package func path(_ name: String = "file") -> String { "\(folder)/\(name)" }

  package func bytes(_ name: String = "file") -> [UInt8]? {
    FileManager.default.contents(atPath: path(name)).map { [UInt8]($0) }
  }

  /// Names what lies in the folder, hidden files by their suffix.
  package var names: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.map { name in
      name.hasPrefix(".offlinecache-") ? String(name.drop { $0 != "-" }.dropFirst(33)) : name
    }.sorted()
  }

  /// Finds the hidden file with a suffix.
  package func hidden(_ suffix: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    guard let name = names.first(where: { $0.hasPrefix(".offlinecache-") && $0.hasSuffix(suffix) })
    else { throw CocoaError(.fileNoSuchFile) }
    return path(name)
  }

  /// Leaves a whole file as a kill before its rename does. The folder has no other download.
  ///
  /// - Returns: the path of the file.
  @discardableResult
  package func undoRename(of name: String) throws -> String {
    let part = try hidden(".json").replacingOccurrences(of: ".json", with: ".part")
    try FileManager.default.moveItem(atPath: path(name), toPath: part)
    return part
  }

  package func downloader(
    _ server: FileServer, maximumRetries: Int = 0, transfers: Int = 8, perHost: Int = 4
  ) -> Downloader {
    Downloader(
      transport: server,
      options: DownloaderOptions(
        maximumTransfers: transfers, maximumTransfersPerHost: perHost,
        maximumRetries: maximumRetries, retryDelay: .milliseconds(1)),
      clock: clock)
  }

  package func asked(_ name: String = "file", url: String = "/big") -> DownloadRequest {
    DownloadRequest(request(url), to: path(name))
  }

  /// Downloads, and gives the error in place of the file.
  package func failure(_ downloader: Downloader, _ request: DownloadRequest) async -> DownloadError
    .Cause?
  {
    do {
      _ = try await downloader.download(request)
      return nil
    } catch {
      return error.cause
    }
  }
}
