import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(5)))
struct RemoteCacheLookUpTests {
  private let key: ByteString = "GET http://a.test/x"

  @Test("misses are remembered for 5 to 60 s, and forgotten when the machine offers the key")
  func rememberedMisses() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    func asks() async -> Bool {
      server.clearLog()
      _ = await machine.lookUp(key)
      return !server.log.isEmpty
    }
    #expect(await asks())
    #expect(await !asks())
    machine.time.advance(bySeconds: 5.1)
    #expect(await asks())
    machine.time.advance(bySeconds: 5.1)
    #expect(await !asks())
    machine.time.advance(bySeconds: 5.1)
    #expect(await asks())
    await machine.offer(key, [1])
    #expect(await machine.lookUp(key) == .success([1]))
  }

  @Test("a document that is moved to another name or namespace is not used")
  func movedDocuments() async throws {
    let server = MemoryServer()
    let one = try Machine(server)
    let other = try Machine(server, namespace: "other")
    await one.offer(key, [1])
    let bytes = try #require(server.objects.values.first?.bytes)
    for (machine, key) in [(one, "GET http://a.test/y" as ByteString), (other, key)] {
      let path = "cache.test/team/" + machine.tier.name(of: key).path
      server.state.withLock { $0.objects[path] = .init(bytes: bytes, version: 77) }
      #expect(await machine.lookUp(key) == .failure(.otherKey))
    }
  }

  @Test func `a document with nothing for a request is a miss of the caller's reason`() async throws
  {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, [1], selecting: ["a:1"])
    for reason in [RemoteReason.noVariant, .clock, .tooLarge] {
      await #expect(throws: reason) {
        _ = try await machine.tier.lookUp(key) { responses in
          #expect(responses.map(\.length) == [1])
          return .failure(reason)
        }
      }
    }
    #expect(machine.tier.statistics.misses == [.noVariant: 1, .clock: 1, .tooLarge: 1])
    #expect(machine.tier.statistics.hits == 0)
  }

  @Test func `a hit counts once its body was read to the end`() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, Array(repeating: 7, count: 5_000))
    let found = try await machine.tier.lookUp(key) { _ in .success(0) }
    #expect(try await found.body.next() != nil && machine.tier.statistics.hits == 0)
    while try await found.body.next() != nil {}
    found.body.cancel()
    #expect(machine.tier.statistics.hits == 1 && machine.tier.statistics.bytesRead == 5_000)
    #expect(machine.tier.statistics.misses == [:])
  }

  @Test func `a refusal costs no request, and is counted`() async throws {
    let server = MemoryServer()
    let writer = try Machine(server, mode: .write)
    #expect(writer.tier.refusal(of: key) == .mode)
    let machine = try Machine(server)
    #expect(machine.tier.refusal(of: key) == nil && server.requests.isEmpty)
    #expect(await machine.lookUp(key) == .failure(.absent))
    server.clearLog()
    #expect(machine.tier.refusal(of: key) == .absent)
    machine.tier.block("GET http://a.test/y")
    #expect(machine.tier.refusal(of: "GET http://a.test/y") == .purged)
    #expect(server.requests.isEmpty)
    #expect(machine.tier.statistics.misses == [.absent: 2, .purged: 1])
  }

  @Test func `what is gone or damaged is not asked for again at once`() async throws {
    for folder in ["ac", "cas"] {
      let server = MemoryServer()
      let machine = try Machine(server)
      await machine.offer(key, Array(repeating: 7, count: 5_000))
      server.change(folder) { folder == "cas" ? nil : Array($0.reversed()) }
      let reason: RemoteReason = folder == "cas" ? .bodyGone : .badDocument
      #expect(await machine.lookUp(key) == .failure(reason))
      server.clearLog()
      #expect(await machine.lookUp(key) == .failure(.absent))
      #expect(server.log.isEmpty)
    }
  }

  @Test func `a short body that is found ends a row of failures`() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, [1])
    for isFailure in [true, true, false, true, true] {
      server.setFault { isFailure && $0.url.target.contains("/ac/") ? .status(500) : nil }
      let found = await machine.lookUp(key)
      #expect((found == .success([1])) != isFailure)
    }
    #expect(machine.tier.statistics.servers.map(\.reading) == ["closed"])
  }

  @Test func `a look-up that is cancelled says nothing about the server`() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, Array(repeating: 7, count: 5_000))
    for isFailure in [true, true, false, true] {
      server.setFault { isFailure && $0.url.target.contains("/cas/") ? .status(500) : nil }
      guard !isFailure else {
        #expect(await machine.lookUp(key) == .failure(.serverError))
        continue
      }
      let found = try await machine.tier.lookUp(key) { _ in .success(0) }
      found.body.cancel()
    }
    #expect(machine.tier.statistics.servers.map(\.reading) == ["open"])
  }
}
