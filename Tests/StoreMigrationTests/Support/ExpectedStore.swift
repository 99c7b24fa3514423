import Foundation

/// What a generator says that its store holds.
struct ExpectedStore {
  let values: [String: Any]

  init(folder: String) throws {
    let data = try Data(contentsOf: URL(filePath: folder + "/expected.json"))
    values = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
  }

  var format: String { values["format"] as? String ?? "" }
  var variant: String { values["variant"] as? String ?? "" }
  var store: String { values["store"] as? String ?? "" }
  var opens: Bool { values["open"] as? String == "ok" }

  /// The entries by row.
  var entries: [Int64: [String: Any]] { byRow("entries") }

  /// The reasons of the rows that give no entry.
  var skipped: [Int64: String] { byRow("skipped").mapValues { $0["reason"] as? String ?? "" } }

  private func byRow(_ list: String) -> [Int64: [String: Any]] {
    let items = values[list] as? [[String: Any]] ?? []
    return Dictionary(
      uniqueKeysWithValues: items.map { (($0["row"] as? NSNumber)?.int64Value ?? -1, $0) })
  }
}
