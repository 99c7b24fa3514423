import CacheFormat
import CommandLineTools
import Foundation

struct Row: Sendable {
  var work: String
  var system: SystemName
  var entries: Int
  var body: Int
  var threads = 1
  var summary: Summary
  var bytesPerEntry: Double?
  var seconds: Double?
}

final class Report {
  private let isJSON: Bool

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  func print(_ title: String, _ rows: [Row], notes: [String] = []) {
    if isJSON {
      for row in rows { emit(json(row) + "\n") }
      return
    }
    emit("\n\(title)\n" + table(rows))
    for note in notes { emit("  \(note)\n") }
  }

  /// Returns a row as JSON.
  ///
  /// `ops_per_s` is the median over slices; `bytes_per_entry` is memory, for `large` the peak of the
  /// process.
  private func json(_ row: Row) -> String {
    let summary = row.summary
    var json = JSONWriter()
    json.append("{\"work\":")
    json.appendText(row.work)
    json.append(",\"system\":")
    json.appendText(row.system.rawValue)
    for (name, number) in [
      ("entries", "\(row.entries)"), ("body", "\(row.body)"), ("threads", "\(row.threads)"),
      ("median_us", fixed(summary.median / 1000, 3)), ("p99_us", fixed(summary.p99 / 1000, 3)),
      ("ops_per_s", fixed(summary.operationsPerSecond, summary.sliceMean < 1e8 ? 0 : 3)),
      ("bytes_per_entry", row.bytesPerEntry.map { fixed($0, 1) }),
      ("seconds", row.seconds.map { fixed($0, 3) }),
    ] as [(String, String?)] {
      if let number { json.append(raw: ",\"\(name)\":\(number)") }
    }
    json.append("}")
    return json.text
  }

  /// Lays out rows; the last column says how many times the store's time a system takes.
  private func table(_ rows: [Row]) -> String {
    var table = TextTable([
      ("work", .left), ("system", .left), ("entries", .right), ("threads", .right),
      ("measured", .right), ("mean us", .right), ("median us", .right), ("p99 us", .right),
      ("p99.9 us", .right), ("per second", .right), ("x store", .right),
    ])
    for row in rows {
      let summary = row.summary
      let reference = rows.first { other in
        other.system == .store && other.work == row.work && other.threads == row.threads
          && other.entries == row.entries
      }
      let ratio = reference.map { fixed(summary.sliceMean / $0.summary.sliceMean, 2) } ?? ""
      table.add([
        row.work, row.system.rawValue, grouped(row.entries), String(row.threads),
        grouped(summary.operations),
        fixed(summary.sliceMean / 1000, 3), fixed(summary.median / 1000, 3),
        fixed(summary.p99 / 1000, 3), fixed(summary.p999 / 1000, 3),
        grouped(Int(summary.operationsPerSecond.rounded())), ratio,
      ])
    }
    return table.lines.map { "  \($0)\n" }.joined()
  }
}

func fixed(_ value: Double, _ decimals: Int) -> String {
  String(format: "%.\(decimals)f", value)
}

func grouped(_ number: Int) -> String {
  number.formatted(.number.locale(Locale(identifier: "en_US")))
}
