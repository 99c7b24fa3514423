import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

struct TransferTests {
  /// Says what one transfer of a random run does.
  private struct Plan {
    let count: Int
    let patience: Int
    let cancelsTask: Bool
    let cancelsBody: Bool

    init(using random: inout SplitMix64) {
      count = Int.random(in: 0...600_000, using: &random)
      patience = Int.random(in: 0...60, using: &random)
      let kind = Int.random(in: 0..<3, using: &random)
      (cancelsTask, cancelsBody) = (kind == 0, kind == 1)
    }
  }

  /// Waits until the buffer is full, or the transfer has ended before.
  private func untilPaused(_ transfer: Transfer) async {
    await eventually { transfer.isPaused || transfer.hasEnded }
  }

  private static let pattern = (0..<251 * 251).map { UInt8($0 % 251) }

  /// Sends as many bytes as asked for in the target, each its own index modulo 251.
  private func countingOrigin() throws -> LoopbackOrigin {
    // Made before the first head goes out: with a sanitizer that takes seconds.
    let pattern = Self.pattern
    return try LoopbackOrigin { request, connection in
      let count = Int(request.target.dropFirst()) ?? 0
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      var sent = 0
      while sent < count, !connection.isOver {
        connection.send(Array(pattern.prefix(count - sent)))
        sent += pattern.count
      }
    }
  }

  @Test(
    "a reader that waits pauses the transfer, and the buffer stays within its bound",
    .timeLimit(.minutes(5)))
  func backPressure() async throws {
    let origin = try countingOrigin()
    let transport = try makeTransport()
    let count = 64 << 20
    let body = try transport.start(HTTPRequest(url: origin.address("/\(count)")), nil, patient)
    let head = try await body.transfer.head().get()
    #expect(head.head.fields.first(named: "content-length")?.text == "\(count)")
    var position = 0
    var wrong = 0
    for pause in 0... {
      if pause < 20, count - position > 1 << 20 { await untilPaused(body.transfer) }
      guard let piece = try await body.next() else { break }
      for byte in piece {
        if byte != UInt8(position % 251) { wrong += 1 }
        position += 1
      }
    }
    #expect(position == count)
    #expect(wrong == 0)
    #expect(body.transfer.largestBuffer <= transport.setup.bufferBytes)
    #expect(body.transfer.largestBuffer > transport.setup.bufferBytes / 2)
  }

  @Test("many slow readers share the memory for buffers", .timeLimit(.minutes(5)))
  func manySlowReaders() async throws {
    let origin = try countingOrigin()
    let transport = try makeTransport()
    var bodies: [TransferBody] = []
    for _ in 0..<60 {
      let request = HTTPRequest(url: try origin.address("/\(16 << 20)"))
      bodies.append(try transport.start(request, nil, patient))
      await untilPaused(bodies[bodies.count - 1].transfer)
    }
    // With 256 KiB each it would be 15 MiB; the shares of 4 MiB come to 9.
    #expect(bodies.map(\.transfer.largestBuffer).reduce(0, +) < 11 << 20)
    for body in bodies { #expect(try await body.readAll().count == 16 << 20) }
  }

  @Test("the idle timeout does not run while the reader is slow", .timeLimit(.minutes(5)))
  func pausedIsNotIdle() async throws {
    let origin = try countingOrigin()
    let silent = try LoopbackOrigin { _, connection in connection.waitForClose() }
    let transport = try makeTransport()
    let options = TransportOptions(idleTimeout: .seconds(1))
    let count = 16 << 20
    let body = try transport.start(HTTPRequest(url: origin.address("/\(count)")), nil, options)
    await untilPaused(body.transfer)
    // The timeout of this one on the same loop shows that the time of the paused one has passed.
    #expect(await transport.failure(try silent.address(), options: options)?.code == .timeout)
    #expect(try await body.readAll().count == count)
  }

  @Test("a body that nobody reads any more ends its connection", .timeLimit(.minutes(5)))
  func lettingGo() async throws {
    let origin = try countingOrigin()
    let transport = try makeTransport()
    var response: TransportResponse? = try await transport.send(
      HTTPRequest(url: origin.address("/\(1 << 40)")), options: patient)
    #expect(try await response?.body.next() != nil)
    response = nil
    await origin.connectionEnd()
    #expect(try await transport.fetch(origin.address("/3")).body.utf8.count == 3)
  }

  @Test(
    "cancelling ends a waiting reader at once, and every later call", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func cancelWhileReading(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
      connection.waitForClose()
    }
    let url = try origin.address()
    let body = try await kind.make().send(HTTPRequest(url: url), options: patient).body
    #expect(try await body.next() == Array("ab".utf8))
    let reader = Task { try await body.next() }
    body.cancel()
    for task in [reader, Task { try await body.next() }] {
      let error = await #expect(throws: TransportError.self) { try await task.value }
      #expect(error == TransportError(.cancelled, url: url.string))
    }
    await origin.connectionEnd()
  }

  @Test(
    "cancelling the task ends the wait for the head", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func cancelBeforeHead(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in connection.waitForClose() }
    let url = try origin.address()
    let transport = try kind.make()
    let task = Task { await transport.failure(url) }
    await eventually { !origin.requests.isEmpty }
    task.cancel()
    #expect(await task.value == TransportError(.cancelled, url: url.string))
    await origin.connectionEnd()
  }

  @Test("a cancelled task asks nobody", arguments: TransportKind.allCases)
  func cancelledBefore(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("") }
    let url = try origin.address()
    let transport = try kind.make()
    let task = Task { () -> TransportError? in
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return await transport.failure(url)
    }
    #expect(await task.value == TransportError(.cancelled, url: url.string))
    #expect(origin.requests.isEmpty)
  }

  @Test(
    "cancelled at random moments, every transfer ends exactly once", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases, 0..<4)
  func randomCancels(kind: TransportKind, run: Int) async throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed of randomCancels \(run): \(seed)")
    var random = SplitMix64(seed: seed)
    let origin = try countingOrigin()
    let transport = try kind.make(bufferBytes: 64 << 10)
    var ended: [TransportError.Code?: Int] = [:]
    for _ in 0..<10 {
      let plans = (0..<40).map { _ in
        Plan(using: &random)
      }
      try await withThrowingTaskGroup(of: TransportError.Code?.self) { group in
        for (number, plan) in plans.enumerated() {
          let url = try origin.address("/\(plan.count)")
          group.addTask {
            let task = Task { () async -> TransportError.Code? in
              // One is certainly cancelled in time.
              if number == 0 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
              do throws(TransportError) {
                let body = try await transport.send(HTTPRequest(url: url), options: patient).body
                var count = 0
                if plan.cancelsBody {
                  count += try await body.next()?.count ?? 0
                  body.cancel()
                }
                count += try await body.readAll().count
                return count == plan.count ? nil : .failed
              } catch {
                return error.code
              }
            }
            if plan.cancelsTask {
              for _ in 0..<plan.patience { await Task.yield() }
              task.cancel()
            }
            return await task.value
          }
        }
        for try await code in group { ended[code, default: 0] += 1 }
      }
    }
    #expect(ended.values.reduce(0, +) == 400)
    #expect(Set(ended.keys).isSubset(of: [nil, .cancelled]), "\(ended)")
    #expect(ended[.cancelled, default: 0] > 0)
    #expect(ended[nil, default: 0] > 0)
    #expect(try await transport.fetch(origin.address("/3")).body.utf8.count == 3)
  }

  @Test("a transport that goes away closes its connections", .timeLimit(.minutes(5)))
  func shutDown() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("x") }
    var transport: CurlTransport? = try makeTransport()
    #expect(try await transport?.fetch(origin.address()).body == "x")
    transport = nil
    await origin.connectionEnd()
  }

  @Test(
    "a body keeps its transport alive", .timeLimit(.minutes(5)), arguments: TransportKind.allCases)
  func bodyKeepsTransport(kind: TransportKind) async throws {
    let origin = try countingOrigin()
    let count = 8 << 20
    var body: (any TransportBody)? = try await kind.make().send(
      HTTPRequest(url: origin.address("/\(count)")), options: patient
    ).body
    #expect(try await body?.readAll().count == count)
    body = nil
    await origin.connectionEnd()
  }

  @Test(arguments: [true, false])
  func `a success without a head is a lost connection`(isWaiting: Bool) async throws {
    let url = try NormalizedURL("http://a.test/")
    let transfer = Transfer(
      HTTPRequest(url: url), nil, options: patient, capacity: { 1 }, onInterim: { _ in }
    ) { _, _ in }
    let early = isWaiting ? Task { await transfer.head() } : nil
    if isWaiting { await Task.yield() }
    transfer.finish(.success([]))
    let head = if let early { await early.value } else { await transfer.head() }
    #expect(throws: TransportError(.connectionLost, url: url.string)) { try head.get() }
  }
}
