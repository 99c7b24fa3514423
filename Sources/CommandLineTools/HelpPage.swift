struct HelpPage {
  /// The command and those above it, the tool first.
  let path: [Command]
  let width: Int

  /// Creates a page. Lines are wrapped at `width`, but at least at 40 and at most at 100 columns.
  init(path: [Command], width: Int) {
    self.path = path
    self.width = min(max(width, 40), 100)
  }

  private var command: Command { path[path.count - 1] }

  /// The command line in one line: `offlinecache get [options] <key>`.
  var usageLine: String {
    var words = path.map(\.name)
    words.append("[options]")
    if !command.subcommands.isEmpty { words.append("<command>") }
    words += command.parameters.map(\.specification.usage)
    return words.joined(separator: " ")
  }

  var text: String {
    var sections = [wrap("\(command.summary).", width: width).joined(separator: "\n")]
    sections.append("Usage: \(usageLine)")
    sections += command.discussion.map { wrap($0, width: width).joined(separator: "\n") }
    sections += tables
    sections += examples
    if !command.subcommands.isEmpty {
      sections.append("'\(command.name) <command> --help' tells more of a command.")
    }
    return sections.joined(separator: "\n\n")
  }

  /// The sections with two columns, aligned with each other.
  private var tables: [String] {
    var groups: [(title: String, rows: [(String, String)])] = []
    groups.append(("Commands", command.subcommands.map { ($0.name, "\($0.summary).") }))
    let parameters = command.parameters.map(\.specification)
    groups.append(("Arguments", parameters.map { ("<\($0.name)>", "\($0.help).") }))
    groups += optionGroups
    groups.append(("Exit status", exitStatuses.map { ("\($0.0.rawValue)", "\($0.1).") }))
    let longest = groups.flatMap(\.rows).map(\.0.count).max() ?? 0
    let column = min(longest, max(12, width / 3))
    return groups.filter { !$0.rows.isEmpty }.map { group in
      ([group.title + ":"] + group.rows.flatMap { row($0.0, $0.1, column: column) })
        .joined(separator: "\n")
    }
  }

  /// The options under their headings; those of the commands above and the built-in ones come last.
  private var optionGroups: [(title: String, rows: [(String, String)])] {
    var titles: [String] = []
    var rows: [String: [(String, String)]] = [:]
    func add(_ option: OptionSpecification, under title: String) {
      if rows[title] == nil { titles.append(title) }
      rows[title, default: []].append((spelling(option), explanation(option)))
    }
    for option in command.options.map(\.specification) { add(option, under: option.group) }
    let inherited =
      command.usesGlobalOptions ? path.dropLast().flatMap(\.options).map(\.specification) : []
    let general = path.count > 1 ? "General options" : OptionSpecification.defaultGroup
    for option in inherited + Command.builtIn { add(option, under: general) }
    return titles.map { ($0, rows[$0] ?? []) }
  }

  /// The statuses of the command, and those of the commands above that it does not declare itself.
  private var exitStatuses: [(ExitStatus, String)] {
    var result: [ExitStatus: String] = [:]
    for (status, meaning) in path.flatMap(\.exitStatuses) { result[status] = meaning }
    return result.filter { !command.unusedStatuses.contains($0.key) }
      .sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
  }

  private var examples: [String] {
    guard !command.examples.isEmpty else { return [] }
    let lines = command.examples.flatMap { example in
      ["  \(example.line)"] + wrap("\(example.effect).", width: width - 6).map { "      \($0)" }
    }
    return [(["Examples:"] + lines).joined(separator: "\n")]
  }

  /// Returns the names of an option as they are typed: `-o, --output FILE`.
  private func spelling(_ option: OptionSpecification) -> String {
    let short = option.short.map { "-\($0), " } ?? "    "
    return short + option.spelling + (option.placeholder.map { " \($0)" } ?? "")
  }

  private func explanation(_ option: OptionSpecification) -> String {
    var notes: [String] = []
    if option.repeats, option.read != nil { notes.append("may be repeated") }
    if let text = option.defaultText { notes.append("default: \(text)") }
    return option.help + (notes.isEmpty ? "." : " (\(notes.joined(separator: "; "))).")
  }

  /// Returns the lines of one row. A long left side gets its own line.
  private func row(_ left: String, _ right: String, column: Int) -> [String] {
    let indent = String(repeating: " ", count: column + 4)
    let lines = wrap(right, width: width - indent.count)
    if left.count > column { return ["  " + left] + lines.map { indent + $0 } }
    let padding = String(repeating: " ", count: column - left.count + 2)
    return ["  " + left + padding + (lines.first ?? "")] + lines.dropFirst().map { indent + $0 }
  }
}

/// Breaks text into lines at its spaces. A word longer than the width gets its own line.
func wrap(_ text: String, width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ") {
    if !line.isEmpty, line.count + 1 + word.count > width {
      lines.append(line)
      line = ""
    }
    line += (line.isEmpty ? "" : " ") + word
  }
  if !line.isEmpty { lines.append(line) }
  return lines
}
