import CacheFormat
import CacheStore
import Foundation
import HTTPSemantics
import TestSupport

@testable import HTTPCaching

/// A cache on a store of its own, before which the test plays client and origin; the store goes away
/// with it.
final class CacheSandbox {
  private let folder = TemporaryFolder()
  private(set) var cache: ResponseCache
  private let keyRule: KeyRule
  private let mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)?

  var store: Store { cache.store }
  var path: String { folder.path + "/store" }

  init(
    role: CacheRules.Role = .privateCache, keepsHistory: Bool = false, keepsNoStore: Bool = false,
    keyRule: KeyRule = .url, options: Options = Options(), hotBytes: Int = 0,
    memoryOnlyBytes: Int = 0,
    mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)? = nil
  ) throws {
    self.keyRule = keyRule
    self.mayReturnStored = mayReturnStored
    var rules = CacheRules(role: role)
    rules.keepsHistory = keepsHistory
    rules.keepsNoStore = keepsNoStore
    cache = ResponseCache(
      store: try Store(at: folder.path + "/store", options: options), rules: rules,
      keyRule: keyRule, fingerprintKey: .ofTests, hotBytes: hotBytes,
      memoryOnlyBytes: memoryOnlyBytes, mayReturnStored: mayReturnStored)
  }

  deinit { store.close() }

  /// Closes the store and opens it again, as the next start of the program does.
  func reopen(_ options: Options = Options(), role: CacheRules.Role? = nil) throws {
    let rules = role.map { CacheRules(role: $0) } ?? cache.rules
    store.close()
    cache = ResponseCache(
      store: try Store(at: path, options: options), rules: rules, keyRule: keyRule,
      fingerprintKey: .ofTests, mayReturnStored: mayReturnStored)
  }

  /// Decides on a request, `seconds` after the start.
  func decide(
    _ request: HTTPRequest, hasBody: Bool = false, policy: CachePolicy = .protocolRules,
    at seconds: Int64 = 0
  ) -> Decision {
    cache.decide(request, hasBody: hasBody, policy: policy, now: moment(seconds))
  }

  /// Sends a request to the origin, whatever is stored.
  func forward(
    _ request: HTTPRequest, policy: CachePolicy = .reload, at seconds: Int64 = 0
  ) -> Forwarding? {
    guard case .forward(let forwarding) = decide(request, policy: policy, at: seconds) else {
      return nil
    }
    return forwarding
  }

  /// Lets the origin answer, and the cache judge and remove what the request has made invalid.
  func receive(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, at seconds: Int64 = 0,
    isPermitted: Bool = true
  ) -> Receipt {
    let times = ResponseTimes(request: moment(seconds), response: moment(seconds))
    let receipt = cache.receive(head, for: forwarding, times: times) { isPermitted }
    for key in cache.invalidated(by: forwarding.original, head) {
      cache.invalidate(key, at: times.response)
    }
    return receipt
  }

  /// Asks the origin, which gives this answer, and stores it if that is allowed.
  ///
  /// - Returns: why it is not stored; nil if it is.
  @discardableResult
  func load(
    _ request: HTTPRequest, _ head: HTTPResponseHead, _ body: [UInt8], at seconds: Int64 = 0
  ) throws -> NotStoredReason? {
    guard let forwarding = forward(request, at: seconds) else { throw Unexpected() }
    guard case .pass(_, let storing) = receive(head, forwarding, at: seconds) else {
      throw Unexpected()
    }
    switch storing {
    case .no(let reason): return reason
    case .yes(let plan):
      _ = try plan.store(body, in: store)
      return nil
    case .inHistory(let plan, let reason):
      _ = try plan.store(body, in: store)
      return reason
    }
  }

  /// Gives what the store serves; nil if it does not.
  func served(
    _ request: HTTPRequest, policy: CachePolicy = .protocolRules, at seconds: Int64 = 0
  ) throws -> Served? {
    guard case .serve(let serving) = decide(request, policy: policy, at: seconds) else {
      return nil
    }
    return try Served(serving)
  }

  /// Gives all bytes of all files of the store, one file after the other.
  var allBytes: [UInt8] {
    let names = FileManager.default.enumerator(atPath: path)
    var bytes: [UInt8] = []
    while let name = names?.nextObject() as? String {
      bytes += Array(name.utf8)
      bytes += [UInt8](FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data())
    }
    return bytes
  }

  /// Gives the paths of the stored bodies.
  var bodies: [String] {
    let names = FileManager.default.enumerator(atPath: path + "/entries")
    var found: [String] = []
    while let name = names?.nextObject() as? String {
      if name.hasSuffix(".body") { found.append("\(path)/entries/\(name)") }
    }
    return found
  }
}

extension FingerprintKey {
  /// Leaves the folders of whoever runs the tests alone.
  static let ofTests = FingerprintKey(bytes: Array(repeating: 7, count: byteCount))
}

/// An answer of the store, read to its end.
struct Served: Equatable {
  var head: HTTPResponseHead
  var body: [UInt8] = []

  init(_ serving: Serving) throws {
    head = serving.head
    for slice in serving.slices {
      let range = slice.range
      switch slice.body {
      case .bytes(let bytes, _): body += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
      case .file(let reader):
        reader.seek(to: range.lowerBound)
        while reader.position < range.upperBound {
          body += try reader.read(upTo: min(65_536, Int(range.upperBound - reader.position)))
        }
      }
    }
  }

  func value(_ name: String) -> String? { head.fields.first(named: name)?.text }
}

/// Says that the cache took another way than the test goes.
struct Unexpected: Error {}

/// Gives a time, in seconds after 15 January 2027, 08:00:00 UTC.
func moment(_ seconds: Int64) -> Timestamp {
  Timestamp(nanoseconds: (1_800_000_000 + seconds) * 1_000_000_000)
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

/// Makes a request for content in a language.
func asking(_ language: String) -> HTTPRequest {
  request("/a", [HTTPField("Accept-Language", language)])
}

func + (left: HTTPFields, right: [HTTPField]) -> HTTPFields { HTTPFields(Array(left) + right) }

func head(_ status: Int = 200, _ fields: HTTPFields = []) -> HTTPResponseHead {
  HTTPResponseHead(status: status, fields: fields)
}

/// Makes a body in which every place has its own bytes; a long one repeats a block of odd length.
func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9e37_79b9_7f4a_7c15
  let block = (0..<min(count, 65_537)).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8(truncatingIfNeeded: state >> 33)
  }
  var bytes: [UInt8] = []
  while bytes.count < count { bytes += block.prefix(count - bytes.count) }
  return bytes
}

/// Says a decision in a few words.
func words(_ decision: Decision) -> String {
  switch decision {
  case .serve: "serve"
  case .forward(let forwarding): "forward: \(forwarding.reason)"
  case .refuse(let reason): "refuse: \(reason)"
  }
}
