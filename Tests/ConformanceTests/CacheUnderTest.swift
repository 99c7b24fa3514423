import CacheClient
import HTTPSemantics
import HTTPTransports
import Synchronization

/// Holds what a client has got for a request.
struct ReceivedAnswer: Sendable {
  var head: HTTPResponseHead
  var body: String
  var interim: [HTTPResponseHead] = []

  /// Returns the values of a name as `fetch` in JavaScript does: lines joined with `, `.
  func value(of name: String) -> String? {
    head.fields.combinedValue(of: name).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Stands between the client of a case and its origin.
protocol CacheUnderTest: Sendable {
  /// Returns the answer, or why there is none.
  func answer(_ request: HTTPRequest, body: String?) async -> Result<ReceivedAnswer, NoAnswer>

  /// Waits until nothing is under way any more.
  func settle() async
}

/// Says why a request got no answer.
struct NoAnswer: Error, CustomStringConvertible {
  var description: String
}

/// Collects the heads of interim answers.
final class InterimHeads: Sendable {
  private let collected = Mutex<[HTTPResponseHead]>([])

  var heads: [HTTPResponseHead] { collected.withLock { $0 } }

  func append(_ head: HTTPResponseHead) {
    collected.withLock { $0.append(head) }
  }
}

/// Asks the origin every time: the check of the replayer itself.
struct NoCache: CacheUnderTest {
  let transport: OriginTransport

  func answer(_ request: HTTPRequest, body: String?) async -> Result<ReceivedAnswer, NoAnswer> {
    let interim = InterimHeads()
    do {
      let answer = try await transport.send(
        request, body: nil, options: TransportOptions(), onInterim: interim.append)
      var text = ""
      while let piece = try await answer.body.next() {
        text += String(decoding: piece, as: UTF8.self)
      }
      return .success(ReceivedAnswer(head: answer.head, body: text, interim: interim.heads))
    } catch {
      return .failure(NoAnswer(description: "fetch failed: \(error)"))
    }
  }

  func settle() async {}
}

/// Asks the library.
struct LibraryCache: CacheUnderTest {
  let client: CachingClient
  /// Whether the store is asked by itself first, as the proxy does for speed.
  let asksStoreFirst: Bool

  func answer(_ request: HTTPRequest, body: String?) async -> Result<ReceivedAnswer, NoAnswer> {
    let interim = InterimHeads()
    var options = FetchOptions()
    options.decodesContent = false
    options.maximumRedirects = 0
    options.onInterim = interim.append
    do {
      let stored = asksStoreFirst ? client.storedAnswer(to: request, options: options) : nil
      let response: ClientResponse
      if let stored {
        response = stored
      } else {
        response = try await client.fetch(
          request, body: body.map { .bytes(Array($0.utf8)) }, options: options)
      }
      var text = ""
      while let piece = try await response.body.next() {
        text += String(decoding: piece, as: UTF8.self)
      }
      return .success(ReceivedAnswer(head: response.head, body: text, interim: interim.heads))
    } catch {
      return .failure(NoAnswer(description: "fetch failed: \(error)"))
    }
  }

  func settle() async { await client.waitForBackground() }
}

/// Asks several machines in turn.
final class RotatingCache: CacheUnderTest {
  private let machines: [LibraryCache]
  private let turn = Mutex(0)

  init(_ machines: [LibraryCache]) { self.machines = machines }

  func answer(_ request: HTTPRequest, body: String?) async -> Result<ReceivedAnswer, NoAnswer> {
    let number = turn.withLock { turn in
      turn += 1
      return turn % machines.count
    }
    return await machines[number].answer(request, body: body)
  }

  func settle() async {
    for machine in machines { await machine.settle() }
  }
}
