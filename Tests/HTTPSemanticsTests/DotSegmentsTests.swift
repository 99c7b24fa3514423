import TestSupport
import Testing

@testable import HTTPSemantics

struct DotSegmentsTests {
  /// The algorithm of RFC 3986, section 5.2.4, word for word, for a path that starts with `/`.
  private func reference(_ path: String) -> String {
    var input = path[...]
    var output = ""
    while !input.isEmpty {
      if input.hasPrefix("/./") {
        input.removeFirst(2)
      } else if input == "/." {
        input = "/"
      } else if input.hasPrefix("/../") || input == "/.." {
        input = input == "/.." ? "/" : input.dropFirst(3)
        if let slash = output.lastIndex(of: "/") { output.removeSubrange(slash...) }
      } else {
        let end = input.dropFirst().firstIndex(of: "/") ?? input.endIndex
        output += input[..<end]
        input = input[end...]
      }
    }
    return output.isEmpty ? "/" : output
  }

  private func removed(_ path: String) -> String {
    String(decoding: DotSegments.removed(from: Array(path.utf8)), as: UTF8.self)
  }

  @Test(arguments: [
    ("", "/"), ("/", "/"), ("/.", "/"), ("/..", "/"), ("/../..", "/"), ("//", "//"),
    ("//..", "/"), ("/a//..", "/a/"), ("/a/b/c/./../../g", "/a/g"), ("/a/...", "/a/..."),
    ("/a/..b/.c", "/a/..b/.c"), ("/a/./", "/a/"), ("/a/b/..", "/a/"), ("/../a/", "/a/"),
  ])
  func `dot segments go away with what they refer to`(path: String, expected: String) {
    #expect(removed(path) == expected)
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `the result is that of the algorithm of the RFC`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<5_000 {
      let rest = random.text(of: Array("..//ab".utf8), upTo: 16)
      let path = "/" + String(decoding: rest, as: UTF8.self)
      #expect(removed(path) == reference(path), "\(path)")
      #expect(removed(removed(path)) == removed(path), "\(path)")
    }
  }
}
