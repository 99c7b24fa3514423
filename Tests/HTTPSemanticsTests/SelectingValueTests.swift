import TestSupport
import Testing

@testable import HTTPSemantics

struct SelectingValueTests {
  @Test(arguments: [
    ("1,2", "1,2"), (" 1 ,\t2 ", "1,2"), ("1,, 2", "1,,2"), ("a b,  c", "a b,c"), ("", ""),
    (" , ", ","), ("\"a , b\" , c", "\"a , b\",c"), ("\"a\\\" , b\", c", "\"a\\\" , b\",c"),
    ("\"a ,  b", "\"a ,  b"), ("a, \" \"", "a,\" \""), ("\" \" ,a", "\" \",a"),
    ("Case, Stays", "Case,Stays"), ("b, a", "b,a"),
  ])
  func `white space around commas says nothing`(value: String, expected: String) {
    #expect(normalized("foo", value) == expected)
  }

  @Test(arguments: ["authorization", "cookie", "proxy-authorization", "user-agent"])
  func `in what is no list only the white space at the ends says nothing`(name: String) {
    #expect(normalized(name, " a=\"1 ,  2\" , b ") == "a=\"1 ,  2\" , b")
  }

  @Test(arguments: [
    ("en, de", "de,en"), ("de, en", "de,en"), ("EN, de", "de,en"), ("en,,de", "de,en"),
    ("en ; Q=0.50, de;q=1.000", "de,en;q=0.5"), ("en;q=0.000", "en;q=0"), ("en;q=1", "en"),
    ("en;q=0.", "en;q=0"), ("*", "*"), ("", ""),
    // Not understood: only white space counts as none.
    ("en;q=2, de", "en;q=2,de"), ("en;q=0.1234, de", "en;q=0.1234,de"),
    ("en;q=1.1, de", "en;q=1.1,de"), ("en;q, de", "en;q,de"), ("en;q=, de", "en;q=,de"),
    ("en;q=05, de", "en;q=05,de"), ("en;q=0.x, de", "en;q=0.x,de"), ("en;q=0,5, de", "5,de,en;q=0"),
  ])
  func `preferences are sorted and their weights shortened`(value: String, expected: String) {
    for name in ["accept", "accept-charset", "accept-encoding", "accept-language"] {
      #expect(normalized(name, value) == expected)
    }
  }

  @Test func `parameters of media types keep their case`() {
    #expect(
      normalized("accept", "Text/HTML; Level=A;q=0.7, */*;q=0.1")
        == "*/*;q=0.1,text/html;level=A;q=0.7")
    #expect(normalized("accept", "a/b;x=\"1, 2\" , C/d") == "a/b;x=\"1, 2\",C/d")
  }

  @Test func `more than 32 preferences keep their order`() {
    let names = (10..<42).map(String.init)
    let reversed = names.reversed().joined(separator: ", ")
    #expect(normalized("accept", reversed) == names.joined(separator: ","))
    #expect(normalized("accept", "z, " + reversed) == "z," + reversed.filter { $0 != " " })
  }

  @Test func `different preferences stay different`() {
    let values = ["en", "de", "en;q=0.5", "en;q=0.51", "en, de", "en;q=0", "", "*", "en-GB"]
    let normal = values.map { normalized("accept-language", $0) }
    #expect(Set(normal).count == values.count)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `the normal form of a normal form is itself`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let letters = Array("aB ,;=q01.\"\\\t".utf8)
    for _ in 0..<500 {
      let value = random.text(of: letters, upTo: 14)
      for name in ["foo", "accept", "accept-language"] {
        let once = SelectingValue.normalized(name, value)
        #expect(SelectingValue.normalized(name, once) == once, "seed \(seed): \(value)")
      }
    }
  }

  private func normalized(_ name: String, _ value: String) -> String {
    String(decoding: SelectingValue.normalized(name, Array(value.utf8)), as: UTF8.self)
  }
}
