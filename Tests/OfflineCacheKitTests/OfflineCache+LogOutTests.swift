import Dispatch
import LoopbackOrigin
import Synchronization
import Testing

@testable import CacheClient
@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5))) struct OfflineCacheLogOutTests {
  @Test func `stored responses, responses in memory, downloads and cookies are gone`() async throws
  {
    let options = OfflineCacheOptions(network: NetworkSetup(proxy: .none, keepsCookies: true))
    let sandbox = try FaceSandbox(options) { _ in fresh("mine", ["Set-Cookie: user=alice"]) }
    let cache = sandbox.cache
    let folder = sandbox.folder.appendingPathComponent("downloads")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let (file, changed) = (folder.appendingPathComponent("a"), folder.appendingPathComponent("b"))
    try await cache.download(for: sandbox.request(), to: file)
    try await cache.download(for: sandbox.request(), to: changed)
    try Data("the user's own".utf8).write(to: changed)
    _ = try await cache.data(for: sandbox.request())
    _ = try await cache.data(for: sandbox.request())
    #expect(cache.client.memoryBytes > 0)
    try await cache.logOut(downloadsIn: [folder])
    #expect(cache.client.memoryBytes == 0)
    #expect(cache.store.statistics.entries == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["b"])
    _ = try await cache.data(for: sandbox.request("/b"))
    _ = try await cache.data(for: sandbox.request("/c"))
    let sent = sandbox.origin.requests.map { ($0.target, $0.value(of: "Cookie")) }
    #expect(sent.last { $0.0 == "/b" }?.1 == nil)
    #expect(sent.last { $0.0 == "/c" }?.1 == "user=alice")
  }

  @Test func `running calls end, and one that waited for another is not sent again`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let calls = Atomic(0)
    let sandbox = try FaceSandbox { request in
      guard calls.add(1, ordering: .relaxed).newValue < 3 else { return fresh("next") }
      arrived.continuation.yield()
      gate.wait()
      return fresh("late")
    }
    defer { for _ in 0..<2 { gate.signal() } }
    let cache = sandbox.cache
    let file = sandbox.folder.appendingPathComponent("file")
    let download = try cache.startDownload(for: sandbox.request("/file"), to: file)
    let first = Task { await text(cache, sandbox.request()) }
    var events = arrived.stream.makeAsyncIterator()
    for _ in 0..<2 { await events.next() }
    let second = Task { await text(cache, sandbox.request()) }
    while !cache.client.flights.isWaitedFor { await Task.yield() }
    try await cache.logOut()
    let cancelled = "\(URLError.Code.cancelled.rawValue)"
    #expect(await first.value == cancelled)
    #expect(await second.value == cancelled)
    let error = await #expect(throws: URLError.self) { try await download.value() }
    #expect(error?.code == .cancelled)
    // The log-out has removed its bytes.
    #expect(error?.localizedDescription.hasSuffix("resumes it") == false)
    #expect(sandbox.origin.requests.count == 2)
    #expect(await text(cache, sandbox.request("/next")) == "next")
  }

  @Test func `the requests of a prefetch that wait are not sent`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let calls = Atomic(0)
    let sandbox = try FaceSandbox { _ in
      guard calls.add(1, ordering: .relaxed).newValue <= 4 else { return fresh("late") }
      arrived.continuation.yield()
      gate.wait()
      return fresh("late")
    }
    defer { for _ in 0..<4 { gate.signal() } }
    let requests = (0..<20).map { sandbox.request("/\($0)") }
    let prefetch = Task { [cache = sandbox.cache] in await cache.prefetch(requests) }
    var events = arrived.stream.makeAsyncIterator()
    for _ in 0..<4 { await events.next() }
    try await sandbox.cache.logOut()
    for result in await prefetch.value {
      guard case .failed(let error) = result else {
        Issue.record("there is a response")
        continue
      }
      #expect(error.code == .cancelled)
    }
    #expect(sandbox.origin.requests.count == 4)
    #expect(sandbox.cache.store.statistics.entries == 0)
  }

  @Test func `a stored response is not written to a file after a log-out`() async throws {
    let sandbox = try FaceSandbox()
    let cache = sandbox.cache
    _ = try await cache.data(for: sandbox.request())
    let place = try FilePlace(sandbox.folder.appendingPathComponent("file"))
    var asked = try AskedRequest(sandbox.request(), mode: .never).forFile()
    asked.options.logOuts = cache.client.logOutCount
    // Stored responses stay for now.
    try await cache.client.forgetUser()
    let error = await #expect(throws: URLError.self) {
      try await cache.written(cache.wanted(asked, place), asked, place)
    }
    #expect(error?.code == .cancelled)
    #expect(sandbox.files.isEmpty)
  }

  @Test func `a file that gets its name after the log-out has looked for it is removed`()
    async throws
  {
    let sandbox = try FaceSandbox()
    let cache = sandbox.cache
    _ = try await cache.data(for: sandbox.request())
    let file = sandbox.folder.appendingPathComponent("file")
    let steps = Steps {
      guard FileManager.default.fileExists(atPath: file.path) else { return }
      cache.client.logOuts.add()
    }
    let error = await #expect(throws: URLError.self) {
      try await withTaskExecutorPreference(steps) {
        try await cache.download(for: sandbox.request(), to: file)
      }
    }
    #expect(error?.code == .cancelled)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.folder.path) == ["store"])
  }

  @Test func `a file stays that had its name when the log-out came`() async throws {
    let sandbox = try FaceSandbox()
    let cache = sandbox.cache
    let file = sandbox.folder.appendingPathComponent("file")
    let steps = Steps {
      // The copy for the store comes last.
      guard cache.store.statistics.entries > 0 else { return }
      cache.client.logOuts.add()
    }
    let error = await #expect(throws: URLError.self) {
      try await withTaskExecutorPreference(steps) {
        try await cache.download(for: sandbox.request(), to: file)
      }
    }
    #expect(error?.code == .cancelled)
    #expect(FileManager.default.fileExists(atPath: file.path))
  }

  @Test func `a download that was started after the log-out has ended the others is removed`()
    async throws
  {
    let client = Mutex<CachingClient?>(nil)
    let sandbox = try FaceSandbox { _ in
      client.withLock { $0?.logOuts.add() }
      return fresh("hello")
    }
    client.withLock { $0 = sandbox.cache.client }
    let file = sandbox.folder.appendingPathComponent("file")
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.download(for: sandbox.request(), to: file)
    }
    #expect(error?.code == .cancelled)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.folder.path) == ["store"])
  }

  @Test func `a response that is being stored is removed, too`() async throws {
    let sandbox = try FaceSandbox()
    let cache = sandbox.cache
    let asked = try AskedRequest(sandbox.request(), mode: .never).request
    let permit = cache.client.permitToStore(asked)
    #expect(permit.beginStoring())
    let logOut = Task { try await cache.logOut() }
    while permit.isValid { await Task.yield() }
    _ = try cache.store.put([1], for: cache.client.key(of: asked))
    permit.endStoring()
    try await logOut.value
    #expect(cache.store.statistics.entries == 0)
  }

  @Test func `what is left is told, and all the rest is done`() async throws {
    let temporary = TemporaryFolder()
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: temporary.path)
    var options = OfflineCacheOptions()
    options.credentialVault = FileCredentialVault(path: temporary.path + "/credentials.json") { _ in
    }
    let sandbox = try FaceSandbox(options)
    _ = try await sandbox.cache.data(for: sandbox.request())
    let missing = sandbox.folder.appendingPathComponent("missing")
    let file = sandbox.folder.appendingPathComponent("file")
    try Data().write(to: file)
    let remote = try #require(URL(string: "http://example.org" + sandbox.folder.path))
    let error = try #require(
      await #expect(throws: LogOutError.self) {
        try await sandbox.cache.logOut(downloadsIn: [missing, file, remote])
      })
    #expect(error.vault?.code == .untrusted)
    #expect(error.store == nil)
    #expect(error.downloads.map(\.code) == [.cannotCreateFile, .unsupportedURL])
    #expect((error as any Error).localizedDescription == error.description)
    #expect(sandbox.cache.store.statistics.entries == 0)
  }
}

/// Runs the steps of a task, each after a closure.
private final class Steps: TaskExecutor {
  private let queue = DispatchQueue(label: "steps")
  private let before: @Sendable () -> Void

  init(_ before: @escaping @Sendable () -> Void) { self.before = before }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in
      before()
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

extension Flights {
  /// Whether a caller waits for the request of another one.
  fileprivate var isWaitedFor: Bool {
    flights.withLock { flights in
      flights.values.joined().contains { flight in flight.value.state.withLock { $0.askers > 1 } }
    }
  }
}
