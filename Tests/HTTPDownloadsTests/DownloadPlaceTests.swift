import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import MessageDigests
import SimulatedFiles
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
    var record = record(of: place)
    record.expiry = DownloadExpiry(after: 7)
    try place.save(record, .unfinished)
    #expect(try place.begun(for: "http://a/") == record && place.begun(for: "http://b/") == nil)
    #expect(try place.statedExpiry(for: "http://a/") == DownloadExpiry(after: 7))
    #expect(try place.statedExpiry(for: "http://b/") == nil)
    #expect(try place.record(.finished) == nil && place.finishedRecord() == nil)
    #expect(sandbox.names == [".part.json"], "no file that was written first is left")
    record.file = ByteString("other")
    try place.save(record, .unfinished)
    #expect(try place.record(.unfinished) == nil)
    place.removeRecord(.unfinished)
    #expect(sandbox.names.isEmpty)
  }

  @Test func `an own record that cannot be read now is an error, one that never can be is none`()
    throws
  {
    let disk = FaultyFiles()
    let place = try DownloadPlace(sandbox.path(), disk)
    defer { place.close() }
    try place.save(record(of: place), .finished)
    let path = sandbox.path(place.recordName(.finished).text)
    disk.faults.set { $0.kind == .open ? SystemError(EACCES) : nil }
    #expect(throws: SystemError(EACCES)) { try place.record(.finished) }
    disk.faults.owner = 12_345
    #expect(try place.record(.finished) == nil)
    disk.faults.owner = nil
    #expect(unsafe chmod(path, 0) == 0)
    #expect(try place.record(.finished) == nil)
  }

  @Test func `an own hidden file that cannot be opened is not removed`() throws {
    let disk = FaultyFiles()
    let place = try DownloadPlace(sandbox.path(), disk)
    defer { place.close() }
    try Data([1]).write(to: URL(fileURLWithPath: sandbox.path(place.sums.text)))
    disk.faults.set { $0.name.hasSuffix(".sums") && $0.kind == .open ? SystemError(EACCES) : nil }
    #expect(throws: SystemError(EACCES)) { try PartFile.open(place) }
    #expect(sandbox.names.contains(".sums"))
  }

  @Test func `a sliding expiry begins anew in the record that was found only`() throws {
    let disk = FaultyFiles()
    let (place, other) = (
      try DownloadPlace(sandbox.path(), disk), try DownloadPlace(sandbox.path(), RealFileSystem())
    )
    defer {
      place.close()
      other.close()
    }
    try Data([1]).write(to: URL(fileURLWithPath: sandbox.path()))
    let status = try #require(place.ownStatus(place.target))
    var found = record(of: place)
    (found.length, found.modified) = (status.length, status.modified)
    found.expire(DownloadExpiry(after: 7, isSliding: true), from: found.started)
    try place.save(found, .finished)
    var next = found
    next.started = next.started.advanced(bySeconds: 1)
    let changed = next
    disk.faults.set { call in
      if call.kind == .lock { _ = try? other.save(changed, .finished) }
      return nil
    }
    #expect(place.prolonged(found, from: found.started.advanced(bySeconds: 5)) == found)
    #expect(try other.record(.finished) == changed)
  }

  @Test func `a file that changes while its digest is read is not that of its record`() throws {
    let disk = FaultyFiles()
    let place = try DownloadPlace(sandbox.path(), disk)
    defer { place.close() }
    let path = sandbox.path()
    try Data([1]).write(to: URL(fileURLWithPath: path))
    let status = try #require(place.ownStatus(place.target))
    var record = record(of: place)
    (record.length, record.modified) = (status.length, status.modified)
    try place.save(record, .finished)
    let digest = try StatedDigest(.sha256, MessageDigest.of([1], .sha256))
    #expect(try place.finishedRecord(with: digest) == record)
    disk.faults.set { call in
      if call.kind == .read, call.name == "file" {
        let time = Date(timeIntervalSince1970: 1)
        _ = try? FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
      }
      return nil
    }
    #expect(try place.finishedRecord(with: digest) == nil)
    #expect(try place.finishedRecord() == nil)
  }

  private func record(of place: DownloadPlace) -> DownloadRecord {
    DownloadRecord(
      file: place.targetName, url: "http://a/", answeredBy: "http://a/",
      head: HTTPResponseHead(status: 200), started: Timestamp(nanoseconds: 1))
  }
}
