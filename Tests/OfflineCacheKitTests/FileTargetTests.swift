import CacheSystem
import HTTPDownloads
import HTTPTransports
import SimulatedFiles
import TestSupport
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(1))) struct FileTargetTests {
  private let folder = TemporaryFolder()

  private func target(_ name: String = "a") throws -> FileTarget {
    FileTarget(try FilePlace(folder.url.appendingPathComponent(name)))
  }

  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func content(_ name: String = "a") -> [UInt8]? {
    FileManager.default.contents(atPath: "\(folder.path)/\(name)").map { [UInt8]($0) }
  }

  /// The code of the error that a call throws; nil for none.
  private func code(_ work: () async throws(URLError) -> Void) async -> URLError.Code? {
    do throws(URLError) { try await work() } catch { return error.code }
    return nil
  }

  /// Bytes are collected up to 512 KiB.
  @Test(arguments: [
    [], [0], [1], [524_287], [524_288], [524_288, 1], [524_287, 1, 600_000, 0, 3],
  ])
  func `all bytes are in the file once it has its name, and not before`(sizes: [Int]) async throws {
    let target = try target()
    var all: [UInt8] = []
    for (index, size) in sizes.enumerated() {
      let piece = [UInt8](repeating: UInt8(index + 1), count: size)
      all += piece
      try await target.write(piece)
      #expect(content() == nil)
    }
    let status = try await target.complete()
    #expect(content() == nil && status.length == UInt64(all.count))
    try await target.moveIntoPlace()
    #expect(content() == all && names == ["a"])
  }

  @Test func `a file that is given up leaves the old one as it was, and nothing beside it`()
    async throws
  {
    try Data([7]).write(to: folder.url.appendingPathComponent("a"))
    for isComplete in [false, true] {
      let target = try target()
      try await target.write([UInt8](repeating: 1, count: 600_000))
      #expect(names.count == 2)
      if isComplete { _ = try await target.complete() }
      await target.abandon()
      #expect(names == ["a"] && content() == [7])
    }
    let neverUsed = try target()
    await neverUsed.abandon()
    #expect(names == ["a"])
  }

  @Test func `a target that nobody has any more leaves nothing`() async throws {
    var target: FileTarget? = try target()
    try await target?.write([UInt8](repeating: 1, count: 600_000))
    target = nil
    #expect(names.isEmpty)
  }

  @Test func `what a killed process has left is removed, by the next call and by forgetting it`()
    async throws
  {
    let first = try target()
    try await first.write([UInt8](repeating: 1, count: 600_000))
    let hidden = try #require(names.first)
    // Another writer does not disturb it, nor do those who forget the file.
    let second = try target()
    try await second.write([UInt8](repeating: 2, count: 600_000))
    #expect(names.count == 2 && names.contains(hidden))
    await second.abandon()
    let downloader = Downloader(transport: NoTransport())
    try await downloader.forget("\(folder.path)/a")
    #expect(names == [hidden])
    await first.abandon()

    for forgets in [true, false] {
      try Data([1]).write(to: folder.url.appendingPathComponent(hidden))
      if forgets {
        try await downloader.forget("\(folder.path)/a")
        #expect(names.isEmpty)
        continue
      }
      let target = try target()
      _ = try await target.complete()
      #expect(names == [hidden])
      try await target.moveIntoPlace()
      #expect(content() == [] && names == ["a"])
    }
  }

  @Test func `a link that is replaced does not give the rights of what it leads to`() async throws {
    let path = folder.path
    func mode(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions] as? Int
    }
    try Data([7]).write(to: folder.url.appendingPathComponent("b"))
    try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: path + "/b")
    try FileManager.default.createSymbolicLink(
      atPath: path + "/a", withDestinationPath: path + "/b")
    for name in ["a", "c"] {
      let target = try target(name)
      _ = try await target.complete()
      try await target.moveIntoPlace()
    }
    #expect(try mode("a") == mode("c") && mode("b") == 0o604)
  }

  @Test func `the rights of the file that is replaced stay`() async throws {
    let path = folder.path + "/a"
    try Data([7]).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    let target = try target()
    try await target.write([1])
    _ = try await target.complete()
    try await target.moveIntoPlace()
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o640 && content() == [1])
  }

  @Test(arguments: [false, true])
  func `a durable file is synced before it has its name, and its folder after that`(
    isDurable: Bool
  ) async throws {
    let disk = FaultyFiles()
    disk.faults.set(nil)
    let place = try FilePlace(folder.url.appendingPathComponent("a"))
    let target = FileTarget(place, isDurable: isDurable, disk)
    try await target.write([1])
    _ = try await target.complete()
    func synced() -> [String] {
      disk.faults.calls.filter { $0.kind == .synchronize }.map(\.name)
    }
    #expect(synced() == (isDurable ? [""] : []) && content() == nil)
    try await target.moveIntoPlace()
    #expect(synced() == (isDurable ? ["", UserPath.split(place.path).folder] : []))
    #expect(content() == [1])
  }

  @Test func `a file that cannot be synced leaves the old one as it was`() async throws {
    try Data([7]).write(to: folder.url.appendingPathComponent("a"))
    let disk = FaultyFiles()
    disk.faults.set { $0.kind == .synchronize ? .inputOutput : nil }
    let place = try FilePlace(folder.url.appendingPathComponent("a"))
    let target = FileTarget(place, isDurable: true, disk)
    try await target.write([1])
    #expect(
      await code { () throws(URLError) in _ = try await target.complete() } == .cannotWriteToFile)
    await target.abandon()
    #expect(names == ["a"] && content() == [7])
  }

  @Test func `without its folder a file cannot be made, and names it`() async throws {
    let target = try target("none/a")
    let error = await #expect(throws: URLError.self) { try await target.complete() }
    #expect(error?.code == .cannotCreateFile)
    #expect(error?.localizedDescription.hasPrefix("\(folder.path)/none/a: ") == true)
    // Bytes that are only collected need no file yet.
    #expect(await code { () throws(URLError) in try await target.write([1]) } == nil)
    #expect(
      await code { () throws(URLError) in
        try await target.write([UInt8](repeating: 1, count: 600_000))
      } == .cannotCreateFile)
    #expect(names.isEmpty)
  }

  @Test func `a folder that takes the name meanwhile stays, and nothing is left beside it`()
    async throws
  {
    let target = try target()
    try await target.write([1])
    _ = try await target.complete()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/a/b", withIntermediateDirectories: true)
    #expect(
      await code { () throws(URLError) in try await target.moveIntoPlace() } == .cannotMoveFile)
    #expect(names == ["a"])
  }

  @Test func `a hidden file that somebody has removed is an error, and no file`() async throws {
    let target = try target()
    try await target.write([1])
    _ = try await target.complete()
    for name in names { try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)") }
    #expect(
      await code { () throws(URLError) in try await target.moveIntoPlace() } == .cannotMoveFile)
    #expect(names.isEmpty)
  }
}

private struct NoTransport: HTTPTransport {
  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    throw TransportError(.cannotConnect, url: request.url.string)
  }
}
