import CacheFormat
import CacheSystem
import ClientTesting
import Testing

@testable import HTTPDownloads

struct DownloadPlaceTests {
  private let sandbox = DownloadSandbox()

  @Test(arguments: [
    ".offlinecache-", ".offlinecache-0123.json", ".OfflineCache-x", ".OFFLINECACHE-X",
    ".of\u{200B}flinecache-x", "\u{FEFF}.offlinecache-x", ".o\u{FB04}inecache-x",
    ".offlinecache\u{AD}-x",
  ])
  func `a name that a volume may take for that of a hidden file is reserved`(name: String) {
    #expect(DownloadRequest.isReserved(name))
    #expect(throws: DownloadError.Cause.invalidPath) {
      try DownloadPlace(sandbox.path(name), RealFileSystem())
    }
  }

  @Test func `a path with a NUL is that of no file, also before the name`() {
    for path in ["\(sandbox.folder)/a\0b", "\(sandbox.folder)\0x/a", "\0", "\0/a"] {
      #expect(throws: DownloadError.Cause.invalidPath) { try DownloadPlace(path, RealFileSystem()) }
    }
    #expect(sandbox.names.isEmpty)
  }

  @Test(arguments: ["offlinecache-x", ".offlinecache", "x.offlinecache-", ".offline cache-", "..."])
  func `other names are free`(name: String) throws {
    #expect(!DownloadRequest.isReserved(name))
    let place = try DownloadPlace(sandbox.path(name), RealFileSystem())
    #expect(place.targetName == ByteString(name))
    place.close()
  }

  @Test func `each file has hidden files of its own, with names of one length`() throws {
    let files = RealFileSystem()
    let places = try ["a", "b", String(repeating: "n", count: 255)].map {
      try DownloadPlace(sandbox.path($0), files)
    }
    let parts = places.map(\.part.text)
    #expect(Set(parts).count == 3 && Set(parts.map(\.utf8.count)).count == 1)
    for place in places {
      let names = [
        place.part, place.sums, place.recordName(.finished), place.recordName(.unfinished),
      ].map(\.text)
      #expect(Set(names).count == 4 && names.allSatisfy { DownloadRequest.isReserved($0) })
      place.close()
    }
  }

  @Test func `a record is read as it was saved, and only for its URL`() throws {
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    defer { place.close() }
    #expect(try place.record(.finished) == nil && place.statedExpiry(for: "http://a/") == nil)
    var record = DownloadRecord(
      file: place.targetName, url: "http://a/", answeredBy: "http://a/",
      head: HTTPResponseHead(status: 200), started: Timestamp(nanoseconds: 1))
    record.expiry = DownloadExpiry(after: 7)
    try place.save(record, .unfinished)
    #expect(try place.begun(for: "http://a/") == record && place.begun(for: "http://b/") == nil)
    #expect(try place.statedExpiry(for: "http://a/") == DownloadExpiry(after: 7))
    #expect(try place.statedExpiry(for: "http://b/") == nil)
    #expect(try place.record(.finished) == nil && place.finishedRecord() == nil)
    #expect(sandbox.names == [".part.json"], "no file that was written first is left")
    place.removeRecord(.unfinished)
    #expect(sandbox.names.isEmpty)
  }
}
