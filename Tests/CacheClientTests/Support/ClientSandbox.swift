import CacheSystem
import ClientTesting
import Foundation
import Synchronization

@testable import CacheClient

/// A client on a store of its own and a scripted transport; the store goes away with it.
final class ClientSandbox: Sendable {
  private let folder = TemporaryFolder()
  let store: Store
  let transport: ScriptedTransport
  let clock = TestClock()
  let client: CachingClient

  init(
    _ transport: ScriptedTransport, _ options: ClientOptions = ClientOptions(),
    store: Options = Options()
  ) throws {
    self.store = try Store(at: folder.path + "/store", options: store)
    self.transport = transport
    var options = options
    options.fingerprintKey = FingerprintKey(bytes: Array(repeating: 7, count: 32))
    client = CachingClient(
      store: self.store, transport: transport, options: options, clock: clock)
  }

  convenience init(_ answer: ScriptedTransport.Answer) throws {
    try self.init(ScriptedTransport(answer))
  }

  deinit { store.close() }

  var path: String { folder.path + "/store" }

  /// Names the files of bodies that are being written, without the directories of replaced keys
  /// (`a07c…-0000…`), which lie there until the next entries are settled.
  var staged: [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: "\(path)/staging")) ?? []
    return names.filter { $0.contains("/") && !$0.hasSuffix("/lock") && !$0.contains("-") }
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

extension StoringState {
  /// Names the state for comparisons.
  var name: String {
    switch self {
    case .fromStore: "fromStore"
    case .pending: "pending"
    case .stored: "stored"
    case .notStored(.forbidden): "forbidden"
    case .notStored(.incomplete): "incomplete"
    case .notStored(.damaged): "damaged"
    case .notStored(.invalidated): "invalidated"
    case .notStored(.superseded): "superseded"
    case .notStored(.gone): "gone"
    case .notStored(.failed(let error)): "failed \(error.code.rawValue)"
    }
  }
}
