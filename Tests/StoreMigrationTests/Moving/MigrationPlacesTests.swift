import CacheStore
import Foundation
import Testing

@testable import StoreMigration

struct MigrationPlacesTests {
  private let sandbox: SourceSandbox

  init() throws { sandbox = try SourceSandbox() }

  private func path(_ name: String) -> String { "\(sandbox.path)/\(name)" }

  private func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(
      atPath: path(name), withIntermediateDirectories: true)
  }

  private func link(_ name: String, to other: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: path(name), withDestinationPath: path(other))
  }

  private func refusal(_ body: () throws(MigrationError) -> Void) -> MigrationError? {
    do throws(MigrationError) {
      try body()
      return nil
    } catch { return error }
  }

  /// Returns why a store may not be at a path.
  private func refusal(source: String, destination: String) -> MigrationError? {
    refusal { () throws(MigrationError) in
      try MigrationPlaces.check(source: path(source), destination: path(destination))
    }
  }

  /// Returns why a report may not be at a path.
  private func refusal(report: String, source: String, destination: String = "store")
    -> MigrationError?
  {
    refusal { () throws(MigrationError) in
      try MigrationPlaces.check(
        report: path(report), source: path(source), destination: path(destination))
    }
  }

  @Test(
    arguments: [
      "in/a", "in/a/b/c", "in/old/../x", "link/x", "in/./x", "in//x", "in/old/a", "other/../in/x",
      "new/../in/x", "new/./../in/x", "new/folder/../../in/x", "new/..//./in/x",
    ])
  func `a folder is refused that is in the source, by any name`(destination: String) throws {
    try makeFolder("in/old")
    try makeFolder("other")
    try link("link", to: "in")
    #expect(
      refusal(source: "in", destination: destination)
        == .destinationInSource(path(destination), path("in")))
    #expect(!FileManager.default.fileExists(atPath: path("new")), "a check makes nothing")
  }

  @Test(arguments: ["in", "in/", "in/.", "in/old/..", "link", "link/", "new/../in"])
  func `the source itself is refused`(destination: String) throws {
    try makeFolder("in/old")
    try link("link", to: "in")
    #expect(refusal(source: "in", destination: destination) == .same(path(destination)))
    #expect(refusal(source: "link", destination: destination) == .same(path(destination)))
  }

  @Test(arguments: [
    "in2", "in-wal", "i", "new/in", "in/../new", ".", "in/..", "loop/x", "new/../other",
  ])
  func `folders beside the source are free`(destination: String) throws {
    try makeFolder("in")
    try link("loop", to: "loop")
    #expect(refusal(source: "in", destination: destination) == nil)
  }

  @Test func `beside a database a store may be, but not among its bodies`() throws {
    try makeFolder("in")
    _ = try sandbox.write("in/Cache.db", [1])
    #expect(refusal(source: "in/Cache.db", destination: "in/store") == nil)
    #expect(refusal(source: "in/Cache.db", destination: "in") == nil)
    #expect(
      refusal(source: "in/Cache.db", destination: "in/Cache.db") == .same(path("in/Cache.db")))
    for folder in ["data", "fsCachedData", ".Cache_SUPPORT"] {
      try makeFolder("in/\(folder)")
      for destination in ["in/\(folder)", "in/\(folder)/a/b"] {
        #expect(
          refusal(source: "in/Cache.db", destination: destination)
            == .destinationInSource(path(destination), path("in/\(folder)")))
      }
    }
  }

  @Test func `a source in the folder of a store is not moved into that store`() throws {
    try Store(at: path("store")).close()
    try makeFolder("store/deep")
    _ = try sandbox.write("store/deep/m", [1])
    for source in ["store/deep/m", "store/deep"] {
      #expect(
        refusal(source: source, destination: "store")
          == .sourceInDestination(path(source), path("store")))
    }
    // A folder above that is no store is refused by the store itself.
    #expect(refusal(source: "store/deep/m", destination: ".") == nil)
  }

  @Test func `a source that is missing is in nobody's way`() throws {
    #expect(refusal(source: "none", destination: "none") == nil)
    #expect(refusal(source: "none/x", destination: "none") == nil)
    #expect(refusal(report: "none", source: "none", destination: "none") == nil)
  }

  @Test func `a report is no part of a database, by any name`() throws {
    for name in ["m", "m-wal", "m-shm", "m-journal"] { _ = try sandbox.write(name, [1]) }
    try makeFolder("data")
    try makeFolder(".m_SUPPORT/_EXTERNAL_DATA")
    try link("link", to: "m-wal")
    try link("folder", to: "data")
    try FileManager.default.linkItem(atPath: path("m"), toPath: path("second"))
    for report in [
      "m", "m-wal", "m-shm", "m-journal", "link", "second", "data/r", "folder/r", "data/../m",
      ".m_SUPPORT/r", ".m_SUPPORT/_EXTERNAL_DATA/r",
    ] {
      #expect(refusal(report: report, source: "m") == .reportInSource(path(report), path("m")))
    }
    for report in ["report", "m2", "new/r"] { #expect(refusal(report: report, source: "m") == nil) }
  }

  /// Another program would take it for a part of the database, and delete it.
  @Test func `a new file has not the name of a part that is missing`() throws {
    for folder in ["in", "other"] { try makeFolder(folder) }
    _ = try sandbox.write("in/m", [1])
    try link("link", to: "in")
    for end in ["-wal", "-shm", "-journal"] {
      for place in ["in/m\(end)", "link/m\(end)", "new/../in/m\(end)"] {
        #expect(
          refusal(report: place, source: "in/m") == .reportInSource(path(place), path("in/m")))
        #expect(refusal(source: "in/m", destination: place) == .same(path(place)))
      }
      #expect(refusal(report: "other/m\(end)", source: "in/m") == nil)
      #expect(refusal(report: "in/n\(end)", source: "in/m") == nil)
    }
  }

  @Test func `what is beside a database counts also if the source is a link to it`() throws {
    for folder in ["in/data", "alias"] { try makeFolder(folder) }
    for name in ["in/m", "in/m-wal"] { _ = try sandbox.write(name, [1]) }
    try link("alias/m", to: "in/m")
    for report in ["in/m", "in/m-wal", "in/data/r", "alias/m"] {
      #expect(
        refusal(report: report, source: "alias/m")
          == .reportInSource(path(report), path("alias/m")))
    }
    #expect(refusal(report: "alias/m-wal", source: "alias/m") == nil)
    #expect(
      refusal(source: "alias/m", destination: "in/data/store")
        == .destinationInSource(path("in/data/store"), path("in/data")))
    _ = try sandbox.write("in/store.json", [])
    #expect(
      refusal(source: "alias/m", destination: "in")
        == .sourceInDestination(path("alias/m"), path("in")))
  }

  @Test func `a report is in no folder of source or destination`() throws {
    try makeFolder("in/deep")
    try Store(at: path("store")).close()
    for report in ["in/r", "in/deep/r", "in/deep/../r"] {
      #expect(refusal(report: report, source: "in") == .reportInSource(path(report), path("in")))
    }
    for report in ["store/r", "store/store.json", "store/entries/00/x", "store/../store/r"] {
      #expect(
        refusal(report: report, source: "in") == .reportInDestination(path(report), path("store")))
    }
    #expect(refusal(report: "r", source: "in") == nil)
  }
}
