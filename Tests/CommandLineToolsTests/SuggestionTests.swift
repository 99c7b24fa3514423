import Testing

@testable import CommandLineTools

@Suite struct SuggestionTests {
  @Test(
    arguments: [
      ("ofline", "offline"), ("off", "offline"), ("paralel", "parallel"), ("lits", "list"),
      ("stroe", "store"), ("LIST", "list"),
    ])
  func `the likeliest word is found`(typed: String, meant: String) {
    #expect(nearest(to: typed, among: ["list", "offline", "parallel", "store"]) == meant)
  }

  @Test(arguments: ["", "q", "zzzzz", "onlinebanking"])
  func `no word is suggested when none is near`(typed: String) {
    #expect(nearest(to: typed, among: ["list", "offline", "ls", "rm", "x"]) == nil)
  }

  @Test(
    arguments: [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("kitten", "sitting", 3)]
      as [(String, String, Int)])
  func `the edit distance counts swaps as one`(left: String, right: String, distance: Int) {
    #expect(editDistance(Array(left.utf8), Array(right.utf8)) == distance)
    #expect(editDistance(Array(right.utf8), Array(left.utf8)) == distance)
  }
}
