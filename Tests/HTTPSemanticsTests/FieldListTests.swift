import Testing

@testable import HTTPSemantics

struct FieldListTests {
  private func list(_ argument: String) -> FieldList {
    Array(argument.utf8).withSpan { FieldList(argument: $0, in: 0..<$0.count) }
  }

  @Test(arguments: [
    ("a", ["a"]), ("Set-Cookie, X-Y", ["set-cookie", "x-y"]), (" a\t,,b ,", ["a", "b"]),
    ("!#$%&'*+-.^_`|~", ["!#$%&'*+-.^_`|~"]),
  ])
  func `names are read in lower case`(argument: String, names: [String]) {
    #expect(list(argument) == .fields(names))
  }

  @Test(arguments: ["", ",", " , \t", "a b", "a,b c", "a;b", "\"a\"", "ä", "a\0", "a\\"])
  func `what is no list of names means the whole response`(argument: String) {
    #expect(list(argument) == .all)
  }

  @Test func `more names than the limit mean the whole response`() {
    func names(_ count: Int) -> String { (0..<count).map { "f\($0)" }.joined(separator: ",") }
    guard case .fields(let found) = list(names(FieldList.maximumNames)) else {
      Issue.record("refused at the limit")
      return
    }
    #expect(found.count == FieldList.maximumNames)
    #expect(list(names(FieldList.maximumNames + 1)) == .all)
    // Also where the list has bytes that are no name behind the limit.
    #expect(list(names(FieldList.maximumNames) + ",é") == .all)
  }

  @Test func `two occurrences restrict what either of them does`() {
    let lists: [FieldList] = [.absent, .all, .fields(["a"]), .fields(["b", "a"])]
    for first in lists {
      for second in lists {
        var both = first
        both.add(second)
        #expect(both.isAll == (first.isAll || second.isAll))
        for name in ["A", "b", "c"] {
          let isNamed = first.names(name) || second.names(name)
          #expect(both.isAll || both.names(name) == isNamed, "\(first) \(second) \(name)")
        }
        if first == .absent, second == .absent { #expect(both == .absent) }
      }
    }
    var many = FieldList.fields((0..<40).map { "a\($0)" })
    many.add(.fields((0..<40).map { "a\($0)" }))
    #expect(!many.isAll)
    many.add(.fields((0..<40).map { "b\($0)" }))
    #expect(many.isAll)
  }
}
