import Testing

@testable import CommandLineTools
@testable import cachefsck
@testable import cachemigrate
@testable import offlinecache

@Suite struct OptionNamesTests {
  /// The meaning of a letter: the long name, and the word for the value, if there is one.
  private struct Meaning: Hashable {
    let long: String
    let placeholder: String?
  }

  /// The options of all commands of the three tools.
  private let options = [
    offlinecache.Declarations.tool, cachefsck.Declarations.tool, cachemigrate.Declarations.tool,
  ].flatMap(all)

  private static func all(_ command: Command) -> [OptionSpecification] {
    command.options.map(\.specification) + Command.builtIn + command.subcommands.flatMap(all)
  }

  @Test func `a letter has one meaning in all commands`() {
    var meanings: [Character: Set<Meaning>] = [:]
    for option in options {
      guard let letter = option.short else { continue }
      meanings[letter, default: []].insert(
        Meaning(long: option.long, placeholder: option.placeholder))
    }
    for (letter, found) in meanings { #expect(found.count == 1, "-\(letter): \(found)") }
    #expect(meanings["n"]?.map(\.long) == ["dry-run"])
    #expect(meanings["j"]?.map(\.long) == ["jobs"])
    #expect(meanings["o"]?.map(\.long) == ["output"])
  }

  @Test func `a long name has the same letter in all commands, or none`() {
    var letters: [String: Set<Character?>] = [:]
    for option in options { letters[option.long, default: []].insert(option.short) }
    for (name, found) in letters { #expect(found.count == 1, "--\(name): \(found)") }
  }
}
