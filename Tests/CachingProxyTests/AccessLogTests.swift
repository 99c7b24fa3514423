import CLibrary
import CacheFormat
import CacheSystem
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

private func record(_ number: Int) -> AnswerRecord {
  AnswerRecord(
    time: Timestamp(nanoseconds: 0), clientAddress: "::1", method: "GET", url: "/\(number)",
    status: 200, bytesSent: 0, microseconds: 0, cacheStatus: nil, source: .proxy, reason: "",
    isComplete: true)
}

/// Reads the URLs of the lines of a file.
private func urls(_ path: String) throws -> [String] {
  let file = unsafe open(path, O_RDONLY)
  try #require(file >= 0)
  defer { close(file) }
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = unsafe piece.withUnsafeMutableBytes { buffer in
      // Safety: read writes at most the buffer's size.
      unsafe read(file, buffer.baseAddress, buffer.count)
    }
    if count <= 0 { break }
    bytes += piece[..<count]
  }
  return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
    String(line.split(separator: "\"")[1].dropFirst(4))
  }
}

@Suite("The access log", .timeLimit(.minutes(5))) struct AccessLogTests {
  private let temporary = TemporaryFolder()

  private var folder: String { temporary.path }

  @Test func `has every answer in order once it is closed`() async throws {
    let log = try AccessLog(.file(folder + "/log"), format: .text)
    for number in 0..<5000 { log.answered(record(number)) }
    try await onThread { log.close() }
    #expect(try urls(folder + "/log") == (0..<5000).map { "/\($0)" })
  }

  @Test func `goes on in a new file after it was renamed and opened again`() async throws {
    let log = try AccessLog(.file(folder + "/log"), format: .text)
    log.answered(record(1))
    let renamed = unsafe rename(folder + "/log", folder + "/old")
    #expect(renamed == 0)
    log.reopen()
    // The new file is there once the thread has opened it.
    await eventually { unsafe access(folder + "/log", F_OK) == 0 }
    log.answered(record(2))
    try await onThread { log.close() }
    #expect(try urls(folder + "/old") == ["/1"])
    #expect(try urls(folder + "/log") == ["/2"])
  }

  @Test func `goes on where it ended before`() async throws {
    for number in 1...2 {
      let log = try AccessLog(.file(folder + "/log"), format: .text)
      log.answered(record(number))
      try await onThread { log.close() }
    }
    #expect(try urls(folder + "/log") == ["/1", "/2"])
  }

  @Test func `that cannot be opened is an error`() {
    let error = #expect(throws: ProxyError.self) {
      try AccessLog(.file("/nonexistent/folder/log"), format: .json)
    }
    #expect(error == ProxyError(.log, subject: "/nonexistent/folder/log"))
  }

  @Test func `counts the lines that a full disk has cost, and reports each time`() async throws {
    let failures = Mutex(0)
    func point(to target: String) {
      _ = unsafe unlink(folder + "/log")
      _ = unsafe symlink(target, folder + "/log")
    }
    point(to: "/dev/full")
    let log = try AccessLog(.file(folder + "/log"), format: .text) { _ in
      failures.withLock { $0 += 1 }
    }
    for number in 0..<5 { log.answered(record(number)) }
    await eventually { failures.withLock { $0 } >= 1 }
    point(to: folder + "/first")
    log.reopen()
    await eventually { unsafe access(folder + "/first", F_OK) == 0 }
    log.answered(record(5))
    try await eventually { try !content("first").isEmpty }
    point(to: folder + "/none/log")
    log.reopen()
    await eventually { failures.withLock { $0 } >= 2 }
    try await onThread { log.close() }
    let lines = try content("first").split(separator: "\n")
    #expect(lines.contains { $0.contains("GET /5") } && lines.count == 2)
    #expect(lines.contains("# 5 lines were left out, as the log could not be written"))
  }

  @Test func `that is a link to itself is an error that says so`() throws {
    let path = folder + "/log"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "log")
    let error = #expect(throws: ProxyError.self) { try AccessLog(.file(path), format: .text) }
    #expect(error?.detail == SystemError(ELOOP).description)
  }

  @Test func `waits for no reader of a pipe when it is opened again`() async throws {
    let path = folder + "/log"
    let failures = Mutex<[String]>([])
    let log = try AccessLog(.file(path), format: .text) { words in
      failures.withLock { $0.append(words) }
    }
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(rename(path, folder + "/old") == 0 && mkfifo(path, 0o600) == 0)
    log.reopen()
    await eventually { failures.withLock { !$0.isEmpty } }
    log.answered(record(1))
    await eventually { (try? urls(folder + "/old")) == ["/1"] }
    unsafe #expect(unlink(path) == 0)
    log.reopen()
    await eventually { unsafe access(path, F_OK) == 0 }
    log.answered(record(2))
    try await onThread { log.close() }
    #expect(try urls(path) == ["/2"])
    let words = "(it is a pipe that nobody reads, or a socket)"
    #expect(failures.withLock { $0.count == 1 && $0[0].contains(words) })
  }

  @Test func `gives the reader of a pipe all lines, also of one that was full`() async throws {
    let path = folder + "/log"
    let log = try AccessLog(.file(path), format: .text)
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
    let reader = unsafe open(path, O_RDONLY | O_NONBLOCK)
    try #require(reader >= 0)
    defer { close(reader) }
    log.reopen()
    // Once the log has opened the pipe, reading finds nothing yet, in place of its end.
    var byte: UInt8 = 0
    await eventually { unsafe read(reader, &byte, 1) < 0 }
    for number in 0..<5000 { log.answered(record(number)) }
    // The pipe is full: it takes no byte more.
    let writer = unsafe open(path, O_WRONLY | O_NONBLOCK)
    try #require(writer >= 0)
    await eventually { isFull(writer) }
    close(writer)
    _ = fcntl(reader, F_SETFL, 0)
    async let end: Void = onThread { log.close() }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      // Safety: read writes at most the buffer's size.
      let count = unsafe piece.withUnsafeMutableBytes {
        unsafe read(reader, $0.baseAddress, $0.count)
      }
      if count <= 0 { break }
      bytes += piece[..<count]
    }
    try await end
    #expect(bytes.count { $0 == 0x0A } == 5000)
  }

  /// Returns whether a pipe has no room for another piece.
  private func isFull(_ writer: Int32) -> Bool {
    var file = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&file, 1, 0) == 0
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"))
  func `is not opened again in a folder that another user has put in place of the old one`()
    async throws
  {
    let (shared, inner, victim) = (folder + "/shared", folder + "/shared/inner", folder + "/victim")
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
    let failures = Mutex(0)
    let log = try AccessLog(.file(inner + "/log"), format: .text) { _ in
      failures.withLock { $0 += 1 }
    }
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(chmod(shared, 0o1777) == 0 && rename(inner, shared + "/old") == 0)
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    unsafe #expect(symlink(victim, inner + "/log") == 0)
    for path in [inner, inner + "/log"] { unsafe #expect(lchown(path, 65_534, 65_534) == 0) }
    log.reopen()
    await eventually { unsafe failures.withLock { $0 } > 0 || access(victim, F_OK) == 0 }
    log.answered(record(1))
    try await onThread { log.close() }
    #expect(!FileManager.default.fileExists(atPath: victim))
    #expect(try urls(shared + "/old/log") == ["/1"])
  }

  private func content(_ name: String) throws -> String {
    try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
  }
}
