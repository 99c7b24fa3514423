import CacheFormat
import CacheStore
import CommandLineTools
import RemoteTier

/// The numbers of the second tier that commands leave in the store for `stats`, by namespace. Two
/// commands that end at the same moment may lose the numbers of one of them.
struct RemoteNumbers {
  /// The key of the entry: a line for each number, `namespace name count`.
  private static let key: ByteString = "offlinecache remote numbers"

  let namespace: String
  private let counts: [String: UInt64]

  /// Adds what a command has done to the numbers in its store. Without an error if the store cannot
  /// be written: numbers are not worth one.
  static func add(_ tier: RemoteCache?, to store: Store) {
    guard let tier else { return }
    let statistics = tier.statistics
    var counts = [
      "hits": statistics.hits, "read_bytes": statistics.bytesRead,
      "offers_stored": statistics.offersStored, "written_bytes": statistics.bytesWritten,
      "offers_dropped": statistics.offersDropped,
    ]
    for (reason, count) in statistics.misses { counts["misses \(reason)"] = count }
    for (reason, count) in statistics.offersFailed { counts["offers_failed \(reason)"] = count }
    guard counts.values.contains(where: { $0 > 0 }) else { return }
    var all = read(store)
    all[tier.options.namespace, default: [:]].merge(counts) {
      $0.addingReportingOverflow($1).partialValue
    }
    let lines = all.flatMap { namespace, counts in
      counts.map { "\(namespace) \($0.key) \($0.value)\n" }
    }
    _ = try? store.put(Array(lines.sorted().joined().utf8), for: key)
  }

  static func all(in store: Store) -> [RemoteNumbers] {
    read(store).map { RemoteNumbers(namespace: $0.key, counts: $0.value) }
      .sorted { $0.namespace < $1.namespace }
  }

  private static func read(_ store: Store) -> [String: [String: UInt64]] {
    guard case .hit(let entry) = store.lookUp(key) else { return [:] }
    var all: [String: [String: UInt64]] = [:]
    for line in String(decoding: entry.body, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 3, let count = UInt64(words[words.count - 1]) else { continue }
      all[String(words[0]), default: [:]][words[1..<(words.count - 1)].joined(separator: " ")] =
        count
    }
    return all
  }

  private func count(_ name: String) -> UInt64 { counts[name] ?? 0 }

  /// The counts with a reason, by reason.
  private func reasons(_ name: String) -> [(String, UInt64)] {
    counts.filter { $0.key.hasPrefix("\(name) ") }
      .map { (String($0.key.dropFirst(name.utf8.count + 1)), $0.value) }.sorted { $0.0 < $1.0 }
  }

  var rows: [[String]] {
    let tier = "tier '\(terminalSafe(namespace))'"
    let misses = reasons("misses").reduce(0) { $0 + $1.1 }
    let failed = reasons("offers_failed").reduce(count("offers_dropped")) { $0 + $1.1 }
    return [
      ["\(tier): hits", "\(count("hits"))", "of \(count("hits") + misses) look-ups"],
      ["\(tier): read", ByteCount(count("read_bytes")).description, ""],
      ["\(tier): offered", "\(count("offers_stored"))", "\(failed) not taken"],
      ["\(tier): written", ByteCount(count("written_bytes")).description, ""],
    ]
  }

  var json: JSONText {
    let names = ["hits", "read_bytes", "offers_stored", "written_bytes", "offers_dropped"]
    return .object(
      [("namespace", .string(namespace))] + names.map { ($0, .count(count($0))) }
        + ["misses", "offers_failed"].map { name in
          (name, .object(reasons(name).map { ($0.0, .count($0.1)) }))
        })
  }
}
