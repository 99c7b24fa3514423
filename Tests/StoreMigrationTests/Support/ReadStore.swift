import CacheFormat
import Foundation
import HTTPSemantics
import StoreMigration

/// All that a source gives; the bodies are in files.
struct ReadStore {
  var entries: [Int64: SourceEntry] = [:]
  var skipped: [Int64: String] = [:]

  /// Reads every row and every body, into `<name>-<row>` of the folder for bodies.
  init(_ cache: SourceCache, as name: String, in sandbox: SourceSandbox) throws {
    while let row = try cache.nextRow() {
      switch row.outcome {
      case .skipped(let reason, _): skipped[row.row] = reason.rawValue
      case .entry(let entry):
        entries[row.row] = entry
        var bytes = Data()
        let reader = try cache.openBody(entry.body)
        while let piece = try reader.next() { bytes.append(contentsOf: piece) }
        try bytes.write(to: URL(filePath: "\(sandbox.bodies)/\(name)-\(row.row)"))
      }
    }
  }

  /// Gives the SHA-256 of all bodies by the name of their files.
  static func digests(in sandbox: SourceSandbox) throws -> [Substring: Substring] {
    let script = """
      import hashlib, os, sys
      for name in os.listdir(sys.argv[1]):
          print(name, hashlib.sha256(open(os.path.join(sys.argv[1], name), 'rb').read()).hexdigest())
      """
    let lines = try Python.run(["-c", script, sandbox.bodies]).split(separator: "\n")
    let words = lines.map { $0.split(separator: " ") }
    return Dictionary(uniqueKeysWithValues: words.map { ($0[0], $0[1]) })
  }
}

/// Compares what was read with what a generator expects.
struct StoreComparison {
  private(set) var differences: [String] = []

  init(_ expected: ExpectedStore, _ found: ReadStore, digest: (Int64) -> Substring?) {
    let wanted = expected.entries
    for row in Set(wanted.keys).union(found.entries.keys).sorted() {
      guard let entry = found.entries[row] else {
        if wanted[row]?["optional"] as? Bool != true {
          differences.append("row \(row) is missing: \(found.skipped[row] ?? "not there")")
        }
        continue
      }
      guard let values = wanted[row] else {
        differences.append("row \(row) should not be converted")
        continue
      }
      compare(row, values, entry, digest(row).map(String.init))
    }
    let optional = Set(wanted.filter { $0.value["optional"] as? Bool == true }.keys)
    let skipped = found.skipped.filter { !optional.contains($0.key) }
    if skipped != expected.skipped {
      differences.append("skipped \(skipped) instead of \(expected.skipped)")
    }
  }

  private mutating func compare(
    _ row: Int64, _ values: [String: Any], _ entry: SourceEntry, _ digest: String?
  ) {
    let fields = entry.fields.map { [$0.name, $0.text] }
    check(row, "url", values["url"] as? String, entry.url)
    check(row, "method", values["method"] as? String, entry.method)
    check(row, "status", values["status"] as? Int, entry.status)
    check(row, "fields", values["header_values"] as? [[String]], fields)
    check(row, "length", values["body_size"] as? Int, Int(entry.body.length))
    check(row, "digest", values["body_sha256"] as? String, digest)
    check(row, "drop", values["drop_headers"] as? [String] ?? [], entry.obsoleteFields)
    check(row, "partition", values["partition"] as? String, entry.partition)
    if let place = values["body_location"] as? String {
      check(row, "place", place == "fs", entry.body.isFile)
    }
    if values["response_url"] is String {
      check(row, "response URL", values["response_url"] as? String, entry.responseURL)
    }
    if let flags = values["flags"] as? [String] {
      check(
        row, "status made up", flags.contains("status_synthesized"), entry.madeUp.contains(.status))
    }
    time(row, "created", values, entry.created)
    time(row, "last_access", values, entry.lastAccess)
    time(row, "expires", values, entry.expires)
    time(row, "response_time", values, entry.received)
    let info = entry.userInfo.map(json) ?? NSNull()
    check(row, "user info", text(values["user_info"] ?? NSNull()), text(info))
  }

  /// JSON with sorted keys, in which `true` and 1 differ.
  private func text(_ value: Any) -> String? {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
    let data = try? JSONSerialization.data(withJSONObject: value, options: options)
    return data.map { String(decoding: $0, as: UTF8.self) }
  }

  private mutating func check<T: Equatable>(_ row: Int64, _ name: String, _ wanted: T?, _ found: T?)
  {
    if wanted != found {
      differences.append(
        "row \(row) \(name): \(String(describing: found)) instead of \(String(describing: wanted))")
    }
  }

  /// The expectation is written with microseconds.
  private mutating func time(
    _ row: Int64, _ name: String, _ values: [String: Any], _ found: Timestamp?
  ) {
    guard let wanted = values[name + "_unix"] else { return }
    let number = (wanted as? NSNumber)?.doubleValue
    let isEqual =
      switch (number, found) {
      case (nil, nil): true
      case (let number?, let found?): abs(number - found.seconds) < 2e-6
      default: false
      }
    if !isEqual {
      differences.append("row \(row) \(name): \(String(describing: found)) instead of \(wanted)")
    }
  }

  /// The form that the generators give to user info.
  private func json(_ value: PropertyListValue) -> Any {
    switch value {
    case .null: NSNull()
    case .bool(let value): value
    case .integer(let value): Int(value)
    case .real(let value): value
    case .date(let time): ["$date": "\(time)".prefix(23) + "Z" as String]
    case .data(let bytes): ["$data": Data(bytes).base64EncodedString()]
    case .string(let text): text
    case .array(let values): values.map(json)
    case .dictionary(let pairs):
      Dictionary(uniqueKeysWithValues: pairs.map { ("\(json($0.key))", json($0.value)) })
    }
  }
}

/// What of a folder tells whether anything in it was altered.
struct FolderState: Equatable {
  private var files: [String: String] = [:]

  init(_ folder: String) throws {
    let script = """
      import hashlib, os, stat, sys
      for base, folders, names in os.walk(sys.argv[1]):
          for name in folders + names + ['.']:
              path = os.path.join(base, name)
              status = os.lstat(path)
              digest = ''
              if stat.S_ISREG(status.st_mode):
                  digest = hashlib.sha256(open(path, 'rb').read()).hexdigest()
              print(path, '|', status.st_mtime_ns, status.st_mode, status.st_ino, status.st_size, digest)
      """
    for line in try Python.run(["-c", script, folder]).split(separator: "\n") {
      let parts = line.split(separator: "|", maxSplits: 1)
      files[String(parts[0])] = String(parts[1])
    }
  }
}
