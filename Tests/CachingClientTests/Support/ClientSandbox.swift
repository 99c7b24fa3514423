import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import HTTPCaching
import HTTPSemantics
import Synchronization
import TestSupport

@testable import CachingClient

/// A client on a store of its own and a scripted transport; the store goes away with it.
final class ClientSandbox: Sendable {
  let path: String
  let store: Store
  let transport: ScriptedTransport
  let clock = TestClock()
  let client: CachingClient

  init(
    _ transport: ScriptedTransport, _ options: ClientOptions = ClientOptions(),
    store: Options = Options()
  ) throws {
    path = FileManager.default.temporaryDirectory.path + "/occlient-\(UUID().uuidString)"
    self.store = try Store(at: path, options: store)
    self.transport = transport
    var options = options
    options.fingerprintKey = FingerprintKey(bytes: Array(repeating: 7, count: 32))
    client = CachingClient(
      store: self.store, transport: transport, options: options, clock: clock)
  }

  convenience init(_ answer: ScriptedTransport.Answer) throws {
    try self.init(ScriptedTransport(answer))
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Names the files of bodies that are being written.
  var staged: [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: "\(path)/staging")) ?? []
    return names.filter { $0.contains("/") && !$0.hasSuffix("/lock") }
  }

  /// Fetches and reads to the end.
  ///
  /// - Returns: the body, and the error that kept it from being had.
  func outcome(
    _ request: HTTPRequest, _ options: FetchOptions = FetchOptions()
  ) async -> (bytes: [UInt8], error: ClientError?) {
    do {
      return (try await client.data(for: request, options: options).bytes, nil)
    } catch {
      return ([], error)
    }
  }
}

/// Stands still until a test moves it; begins on 15 January 2027, 08:00:00 UTC.
final class TestClock: WallClock {
  private let nanoseconds = Mutex<Int64>(1_800_000_000_000_000_000)

  func now() -> Int64 { nanoseconds.withLock { $0 } }

  func advance(bySeconds seconds: Int64) {
    nanoseconds.withLock { $0 += seconds * 1_000_000_000 }
  }
}

/// Makes a request for a path of one host.
func request(
  _ path: String = "/a", _ fields: HTTPFields = [], method: String = "GET"
) -> HTTPRequest {
  guard let url = try? NormalizedURL("http://example.com\(path)") else {
    preconditionFailure("\(path) is no path")
  }
  return HTTPRequest(method: HTTPMethod(rawValue: method), url: url, fields: fields)
}

/// Makes fields of an answer that may be stored and is fresh for a time.
func fresh(_ seconds: Int = 1000, tag: String? = nil, vary: String? = nil) -> HTTPFields {
  var fields: HTTPFields = [HTTPField("Cache-Control", "max-age=\(seconds)")]
  if let tag { fields.append(HTTPField("ETag", "\"\(tag)\"")) }
  if let vary { fields.append(HTTPField("Vary", vary)) }
  return fields
}

/// Makes pieces of these sizes, in which every place has its own bytes.
func pieces(_ sizes: [Int], seed: UInt64 = 1) -> [[UInt8]] {
  var random = SplitMix64(seed: seed)
  return sizes.map { random.bytes($0) }
}

extension StoringState {
  /// Names the state for comparisons.
  var name: String {
    switch self {
    case .fromStore: "fromStore"
    case .pending: "pending"
    case .stored: "stored"
    case .notStored(.forbidden): "forbidden"
    case .notStored(.incomplete): "incomplete"
    case .notStored(.invalidated): "invalidated"
    case .notStored(.failed(let error)): "failed \(error.code.rawValue)"
    }
  }
}
