import CacheFormat
import CacheStore
import Foundation
import HTTPCaching
import HTTPSemantics
import StoreMigration

/// Compares a store that was moved into with what a generator expects.
struct MovedComparison {
  private(set) var differences: [String] = []
  private let cache: ResponseCache
  private let store: Store
  private let now = Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))

  init(_ store: Store) {
    self.store = store
    cache = ResponseCache(store: store)
  }

  /// Compares the rows.
  ///
  /// - Parameters:
  ///   - results: what the migration told of each.
  ///   - requests: the fields of the archived requests by row.
  ///   - write: takes the bytes of a body that was found, for a row.
  mutating func compare(
    _ expected: ExpectedStore, _ results: [Int64: RowResult], _ requests: [Int64: HTTPFields],
    write: (Int64, [UInt8]) throws -> Void
  ) throws {
    let wanted = expected.entries
    let skipped = expected.skipped
    if results.count != Set(wanted.keys).union(skipped.keys).count {
      differences.append("\(results.count) rows")
    }
    for (row, result) in results.sorted(by: { $0.key < $1.key }) {
      switch result.outcome {
      case .skipped(let reason, let detail):
        if skipped[row] != reason.name, wanted[row]?["optional"] as? Bool != true,
          !isSuperseded(row, wanted, reason)
        {
          differences.append("row \(row) is skipped: \(reason.name) \(detail)")
        }
      case .converted:
        guard let values = wanted[row] else {
          differences.append("row \(row) should not be converted")
          continue
        }
        if isSuperseded(row, wanted, nil) { continue }
        try compare(row, values, requests[row] ?? [], write)
      }
    }
  }

  /// Whether a newer row has a URL of the same normal form.
  private func isSuperseded(_ row: Int64, _ wanted: [Int64: [String: Any]], _ reason: RowReason?)
    -> Bool
  {
    if let reason, reason.name != "duplicate_url_superseded" { return false }
    guard let values = wanted[row], let key = key(values) else { return false }
    return wanted.contains { other in other.key != row && self.key(other.value) == key }
  }

  private func key(_ values: [String: Any]) -> String? {
    guard let method = values["method"] as? String, let url = values["url"] as? String,
      let normal = try? NormalizedURL(url)
    else { return nil }
    return "\(method) \(normal)"
  }

  private mutating func compare(
    _ row: Int64, _ values: [String: Any], _ fields: HTTPFields,
    _ write: (Int64, [UInt8]) throws -> Void
  ) throws {
    let url = try NormalizedURL(values["url"] as? String ?? "")
    let method = HTTPMethod(rawValue: values["method"] as? String ?? "")
    let request = HTTPRequest(method: method, url: url, fields: fields)
    let key = ByteString("\(method) \(url)")
    let variants = store.variants(of: key)
    guard let info = variants.max(by: { $0.created < $1.created }) else {
      differences.append("row \(row) is not in the store")
      return
    }
    check(row, "status", values["status"] as? Int, info.status)
    check(row, "fields", wantedFields(values), foundFields(values, info))
    time(row, "created", values, info.created)
    time(row, "last_access", values, info.accessed)
    if !(values["expires_unix"] is NSNull) { time(row, "expires", values, info.expires) }
    let own = info.userInfo.first { $0.name == "source-user-info" }?.value.description ?? "null"
    check(row, "user info", canonical(values["user_info"] ?? NSNull()), canonical(json: own))

    // As somebody looks it up who has no network.
    guard case .serve(let serving) = cache.decide(request, policy: .offline, now: now) else {
      differences.append("row \(row) is not found by a look-up")
      return
    }
    if method != .get { check(row, "slices", 0, serving.slices.count) }
    // The answer to a GET answers a HEAD, too, and need not be the same.
    if method != .get, store.contains(ByteString("GET \(url)")) { return }
    check(row, "head", values["status"] as? Int, serving.head.status)
    guard method == .get else {
      let length = values["header_values"] as? [[String]] ?? []
      let told = length.first { $0[0].lowercased() == "content-length" }?[1]
      check(row, "told length", told, serving.head.fields.first(named: "Content-Length")?.text)
      return
    }
    var body: [UInt8] = []
    for slice in serving.slices {
      switch slice.body {
      case .bytes(let bytes, _): body += bytes
      case .file(let reader):
        while body.count < Int(reader.length) { body += try reader.read(upTo: 1 << 20) }
      }
    }
    try write(row, body)
    // Fresh by the fields: found by everybody.
    if serving.ttl > 0, !serving.variant.response.facts.directives.noCache.isAll,
      !serving.variant.response.facts.directives.noStore
    {
      guard case .serve = cache.decide(request, now: now) else {
        differences.append("row \(row) is fresh, and not served")
        return
      }
    }
  }

  private static let ofConnections = [
    "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade",
    "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
  ]

  private func wantedFields(_ values: [String: Any]) -> [[String]] {
    let dropped = (values["drop_headers"] as? [String] ?? []).map { $0.lowercased() }
    return (values["header_values"] as? [[String]] ?? []).filter { field in
      let name = field[0].lowercased()
      return !dropped.contains(name) && !Self.ofConnections.contains(name)
    }
  }

  /// The stored fields, without those that the store has added: a date, the real length.
  private func foundFields(_ values: [String: Any], _ info: EntryInfo) -> [[String]] {
    let wanted = wantedFields(values).map { $0[0].lowercased() }
    return info.fields.map { [$0.name.description, $0.value.description] }.filter { field in
      let name = field[0].lowercased()
      if name == "date" { return wanted.contains(name) }
      if name == "content-length", !wanted.contains(name) { return field[1] != "\(info.length)" }
      return true
    }
  }

  private func canonical(_ value: Any) -> String? {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
    return (try? JSONSerialization.data(withJSONObject: value, options: options))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private func canonical(json: String) -> String? {
    let value = try? JSONSerialization.jsonObject(
      with: Data(json.utf8), options: [.fragmentsAllowed])
    return value.flatMap(canonical)
  }

  private mutating func check<T: Equatable>(
    _ row: Int64, _ name: String, _ wanted: T?, _ found: T?
  ) {
    if wanted != found {
      differences.append(
        "row \(row) \(name): \(String(describing: found)) instead of \(String(describing: wanted))")
    }
  }

  private mutating func time(
    _ row: Int64, _ name: String, _ values: [String: Any], _ found: Timestamp?
  ) {
    // What is to come is taken for now.
    guard let wanted = (values[name + "_unix"] as? NSNumber)?.doubleValue,
      name == "expires" || wanted < now.seconds
    else { return }
    if found.map({ abs(wanted - $0.seconds) < 2e-6 }) != true {
      differences.append("row \(row) \(name): \(String(describing: found)) instead of \(wanted)")
    }
  }
}
