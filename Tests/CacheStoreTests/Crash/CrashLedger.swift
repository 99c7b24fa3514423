import CacheFormat
import CacheStore
import Synchronization

@testable import storeprobe

/// What a key has, as a test knows it.
struct CrashValue: Hashable, Sendable {
  /// The key and the version that the body was made of.
  var content: String
  var status: Int
  var isPinned = false

  private static let made = Mutex<[String: [UInt8]]>([:])

  /// The body, made once.
  static func body(_ content: String) -> [UInt8] {
    if let body = made.withLock({ $0[content] }) { return body }
    let words = content.split(separator: " ")
    let body = ProbeBody.make(String(words[0]), Int(words[1]) ?? 0)
    made.withLock { $0[content] = body }
    return body
  }

  /// What a body was made of, or nil where a byte of it is wrong.
  static func content(of body: [UInt8]) -> String? {
    guard let end = body.firstIndex(of: 10) else { return nil }
    let words = String(decoding: body[..<end], as: UTF8.self).split(separator: " ")
    let content = words.prefix(2).joined(separator: " ")
    guard words.count == 3, Int(words[1]) != nil, Self.body(content) == body else { return nil }
    return content
  }
}

/// What was tried and what was promised: for each key the values that it may have now, nil for none.
struct CrashLedger: Sendable {
  private(set) var allowed: [String: Set<CrashValue?>] = [:]
  /// All that a key ever had.
  private(set) var tried: [String: Set<CrashValue?>] = [:]
  /// Whether entries that are not pinned may be evicted.
  var mayEvict = false
  private(set) var complaints: [String] = []

  /// A change begins.
  mutating func attempt(_ key: String, _ change: (CrashValue?) -> CrashValue?) {
    let before = values(key)
    allowed[key] = before.union(before.map(change))
    tried[key, default: [nil]].formUnion(values(key))
    if mayEvict { admitEvictions() }
  }

  /// A change has returned: it is promised.
  mutating func promise(
    _ key: String, _ before: Set<CrashValue?>, _ change: (CrashValue?) -> CrashValue?
  ) {
    allowed[key] = Set(before.map(change))
    if mayEvict { admitEvictions() }
  }

  /// A change was refused: nothing has changed.
  mutating func refuse(_ key: String, _ before: Set<CrashValue?>) {
    allowed[key] = before
    if mayEvict { admitEvictions() }
  }

  func values(_ key: String) -> Set<CrashValue?> { allowed[key] ?? [nil] }

  mutating func admitEvictions() {
    for (key, values) in allowed where values.contains(where: { $0?.isPinned != true }) {
      allowed[key]?.insert(nil)
    }
  }

  mutating func complain(_ text: String) { complaints.append(text) }

  mutating func forgetComplaints() { complaints = [] }

  /// Holds what a store says of a key against what it may say.
  ///
  /// - Parameter isPromised: false where it may have lost things, and have old ones.
  mutating func check(_ key: String, _ found: Lookup, isPromised: Bool) {
    guard case .hit(let entry) = found else {
      if isPromised && !values(key).contains(nil) { complain("\(key) is lost: \(found.reason)") }
      return
    }
    guard let content = CrashValue.content(of: entry.body) else {
      return complain("\(key) has a wrong byte")
    }
    let value = CrashValue(
      content: content, status: entry.info.status ?? 0, isPinned: entry.info.isPinned)
    let may = isPromised ? values(key) : tried[key] ?? [nil]
    if !may.contains(value) { complain("\(key) has \(value), it may have \(may)") }
  }
}

extension Lookup {
  /// Why it is a miss.
  fileprivate var reason: String {
    if case .miss(let reason) = self { return "\(reason)" }
    return "it is none"
  }
}
