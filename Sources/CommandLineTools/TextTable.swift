package struct TextTable: Sendable {
  package enum Alignment: Sendable, Hashable { case left, right }

  private let alignments: [Alignment]
  private var rows: [[String]] = []
  private var widths: [Int]

  /// Creates a table.
  ///
  /// - Parameter columns: The headings, and the alignment of the cells. If all headings are empty,
  ///   there is no line for them.
  package init(_ columns: [(title: String, alignment: Alignment)]) {
    alignments = columns.map(\.alignment)
    widths = columns.map { displayWidth($0.title) }
    if columns.contains(where: { !$0.title.isEmpty }) { rows.append(columns.map(\.title)) }
  }

  /// Adds a row.
  ///
  /// - Precondition: There is one cell for each column, and no cell has a line feed.
  package mutating func add(_ cells: [String]) {
    precondition(cells.count == alignments.count, "a row needs a cell for each column")
    for (column, cell) in cells.enumerated() {
      widths[column] = max(widths[column], displayWidth(cell))
    }
    rows.append(cells)
  }

  /// The lines of the table, without spaces at the end.
  package var lines: [String] { rows.map(line) }

  private func line(_ cells: [String]) -> String {
    var result = ""
    for (column, cell) in cells.enumerated() {
      if column > 0 { result += "  " }
      let padding = String(repeating: " ", count: widths[column] - displayWidth(cell))
      result += alignments[column] == .right ? padding + cell : cell + padding
    }
    while result.last == " " { result.removeLast() }
    return result
  }
}
