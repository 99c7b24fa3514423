import CacheFormat
import Foundation
import HTTPSemantics
import Testing

@testable import StoreMigration

/// What real programs have written.
@Suite(.enabled(if: RecordedSources.areThere, RecordedSources.hint))
struct SampleTests {
  private func samples(_ folder: String) throws -> [String: [UInt8]] {
    let folder = try #require(RecordedSources.folder) + "/" + folder
    var found: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      found[name] = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
    }
    return found
  }

  @Test func `a cache of Safari on iOS 16, all rows in the -wal`() throws {
    let sandbox = try SourceSandbox()
    let folder = try #require(RecordedSources.folder) + "/cfnetwork/ios16_safari_mvs2023"
    let before = try FolderState(folder)
    let cache = try SourceCache(path: folder, temporaryFolder: sandbox.copies)
    #expect(cache.format == .cfnetwork)
    let read = try ReadStore(cache, as: "safari", in: sandbox)
    let entry = try #require(read.entries.values.first)
    #expect(read.entries.count == 1 && read.skipped.isEmpty)
    #expect(
      entry.url.hasPrefix("https://configuration.apple.com/configurations/internetservices/safari/")
    )
    #expect(entry.method == "GET" && entry.status == 200)
    #expect(entry.body.length == 124_730 && entry.body.isFile)
    #expect(entry.obsoleteFields == ["Content-Encoding", "Content-Length"])
    #expect(entry.storedFields.first(named: "Content-Length")?.text == "124730")
    #expect(entry.created?.description.prefix(19) == "2022-11-21T20:22:02")
    #expect(entry.expires?.description.prefix(19) == "2022-11-21T20:22:52")
    #expect(
      try Array(ReadStore.digests(in: sandbox).values)
        == ["b87bfb42c908e7d6289e3b067752297dd688c91b477c0fe48de8d1221947d67e"])
    #expect(try FolderState(folder) == before)
  }

  @Test func `the empty template of the book's program`() throws {
    let sandbox = try SourceSandbox()
    let folder = try #require(RecordedSources.folder) + "/offlinecache"
    let cache = try SourceCache(path: folder, temporaryFolder: sandbox.copies)
    #expect(cache.format == .offlinecache && cache.rowCount == 0)
    #expect(try cache.nextRow()?.row == nil)
  }

  @Test func `archived responses of 2014 to 2020`() throws {
    let all = try samples("keyed/response")
    #expect(all.count == 12)
    for (name, bytes) in all {
      let response = try ArchivedResponse(keyedArchive: bytes)
      #expect(response.status == 200, "\(name)")
      #expect(response.url?.contains(":/") == true, "\(name)")
      #expect(response.received != nil, "\(name)")
      #expect(response.isStatusMadeUp == name.contains("plain"), "\(name)")
      #expect(!response.fields.contains("__hhaa__"), "\(name)")
    }
    let style = try ArchivedResponse(
      keyedArchive: try #require(all["2014_osx_dollar_keys_0.bplist"]))
    #expect(style.url == "http://docs.slimframework.com/bootstrap/css/bootstrap.css")
    #expect(style.fields.count == 7 && style.length == 109_438)
    #expect(style.received?.description.prefix(23) == "2014-05-22T12:16:22.222")
    let image = try ArchivedResponse(
      keyedArchive: try #require(all["2020_macos_named_keys_crouton_0.bplist"]))
    #expect(image.fields.count == 9 && image.length == nil)
  }

  @Test func `archived requests of 2016`() throws {
    let all = try samples("keyed/request")
    let plain = try #require(all["2016_ios10_NSURLRequest_16objs_noHTTP.bplist"])
    let get = try #require(all["2016_ios10_NSURLRequest_GET_22objs.bplist"])
    let without = try #require(ArchivedRequest(keyedArchive: plain))
    #expect(without.method == "GET" && without.fields.isEmpty)
    let with = try #require(ArchivedRequest(keyedArchive: get))
    #expect(with.method == "GET")
    #expect(
      with.fields.map(\.name) == ["User-Agent", "Accept", "Accept-Language", "Accept-Encoding"])
    #expect(with.fields.first(named: "Accept-Encoding")?.text == "gzip, deflate")
  }
}
