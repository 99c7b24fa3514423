import HTTPSemantics
import SiteParsing

/// Reads a style sheet.
func fuzzStyle(_ bytes: [UInt8]) {
  let found = StyleScanner.references(in: bytes)
  require(found.count <= bytes.count, "a URL takes a byte")
  require(
    found.reduce(0) { $0 + $1.utf8.count } <= 3 * bytes.count, "URLs come from the style sheet")
  // Whatever stands before them in a block of its own, later URLs are found.
  let closed = bytes.filter { !"\"'/\\(".utf8.contains($0) } + Array(";}p{b:url(x)}".utf8)
  require(StyleScanner.references(in: closed).last == "x", "broken parts end")
}

/// Reads a page whose first byte chooses the encoding.
func fuzzHTML(_ bytes: [UInt8]) {
  let charsets = [nil, "utf-8", "iso-8859-1", "utf-16le", "shift_jis", "x"]
  let charset = charsets[Int(bytes.first ?? 0) % charsets.count]
  let found = LinkExtractor.references(in: Array(bytes.dropFirst()), charset: charset)
  require(found.all.count <= bytes.count, "a reference takes a byte")
  for reference in found.all {
    require(!reference.text.isEmpty, "no reference is empty")
    require(reference.text.utf8.count <= References.maximumLength, "references are bounded")
    require(References.trimmed(reference.text) == reference.text, "references are trimmed")
  }
}

/// Reads a robots.txt, and asks for each of its lines.
func fuzzRobots(_ bytes: [UInt8]) {
  guard let rules = RobotsRules(bytes, for: "OfflineCache") else { return }
  let lines = bytes.split { $0 == 10 || $0 == 13 }.prefix(50)
  for line in lines {
    let target = String(decoding: line.drop { $0 != UInt8(ascii: "/") }, as: UTF8.self)
    guard let url = try? NormalizedURL("http://a.test\(target)") else { continue }
    _ = rules.allows(url)
  }
  guard let robots = try? NormalizedURL("http://a.test/robots.txt") else { return }
  require(rules.allows(robots), "robots.txt itself is allowed")
  let open = RobotsRules(bytes + Array("\nuser-agent: zzz\nallow: /\n".utf8), for: "zzz")
  require(open?.allows(robots) ?? false, "a group of its own is found")
}
