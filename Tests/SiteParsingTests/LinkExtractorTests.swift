import SiteParsing
import Testing

@Suite struct LinkExtractorTests {
  private func found(_ html: String, charset: String? = nil) -> References {
    LinkExtractor.references(in: Array(html.utf8), charset: charset)
  }

  private func texts(_ html: String, _ kind: Reference.Kind) -> [String] {
    found(html).all.filter { $0.kind == kind }.map(\.text)
  }

  @Test(arguments: [
    ("<a href=x>", "x"), ("<AREA HREF='x'>", "x"), ("<a href=' \n x\ty '>", "xy"),
    ("<link rel=next href=x>", "x"), ("<a href='x?a=1&amp;b=2'>", "x?a=1&b=2"),
    ("<meta http-equiv=Refresh content='5; url=x'>", "x"),
    ("<meta http-equiv=refresh content=\"0;URL='x'\">", "x"),
    ("<meta http-equiv=refresh content='5 url=x;y'>", "x;y"),
    ("<meta http-equiv=refresh content=' 1.5 , x'>", "x"), ("<svg><a xlink:href=x>", "x"),
  ])
  func `links are found`(html: String, link: String) {
    #expect(found(html).all == [Reference(.link, link)])
  }

  @Test(arguments: [
    ("<img src=x>", ["x"]), ("<script src=x></script>", ["x"]), ("<iframe src=x>", ["x"]),
    ("<frameset><frame src=x></frameset>", ["x"]), ("<embed src=x>", ["x"]),
    ("<object data=x>", ["x"]), ("<input type=IMAGE src=x>", ["x"]),
    ("<video src=x poster=y><track src=z></video>", ["x", "y", "z"]),
    ("<audio><source src=x></audio>", ["x"]), ("<body background=x>", ["x"]),
    ("<img srcset='a.png 1x,b.png 2x, c,d.png 100w'>", ["a.png", "b.png", "c,d.png"]),
    ("<link rel=preload imagesrcset='a, b 2x' href=c>", ["a", "b", "c"]),
    ("<link rel='alternate StyleSheet' href=x>", ["x"]), ("<link rel=manifest href=x>", ["x"]),
    ("<link rel='shortcut icon' href=x>", ["x"]), ("<p style='background: url(x)'>", ["x"]),
    ("<style>@import 'x'; p { background: url(\"y\") }</style>", ["x", "y"]),
    ("<svg><image href=x /><use xlink:href='y#z' /></svg>", ["x", "y"]),
    ("<noscript><img src=x></noscript>", ["x"]),
  ])
  func `parts are found`(html: String, parts: [String]) {
    #expect(texts(html, .requisite) == parts)
  }

  @Test(arguments: [
    "<a rel='noopener NoFollow' href=x>", "<a>", "<a href='#top'>", "<a href=''>", "<a href>",
    "<input src=x>", "<link rel=preconnect href=x>", "<link href=x>", "<!-- <img src=x> -->",
    "<script>'<img src=x>'</script>", "<textarea></textarea>", "<form action=x></form>",
    "<meta http-equiv=refresh content=5>", "<meta http-equiv=refresh content='5;'>",
    "<meta http-equiv=refresh content='soon; url=x'>", "", "<", "<img srcset=' , '>",
  ])
  func `nothing else is`(html: String) {
    #expect(found(html).all.isEmpty)
  }

  @Test func `the first base counts, and robots may forbid to follow links`() {
    let references = found("<base target=a><base href=' b/ '><base href=c><a href=x>")
    #expect(references.base == "b/")
    #expect(!references.forbidsFollowing)
    #expect(found("<meta name=ROBOTS content='noindex, NOFOLLOW'>").forbidsFollowing)
    #expect(!found("<meta name=robots content='noindex'>").forbidsFollowing)
  }

  @Test func `broken documents are read`() {
    let html = "<p><b><a href=1>x<table></p></b><tr><a href=2 <a href=3></html><a href=\"4\">"
    #expect(Set(texts(html, .link)).isSuperset(of: ["1", "2", "4"]))
  }

  @Test func `documents in other encodings are read`() throws {
    let html = "<a href='\u{E9}'>"
    let latin = html.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    for charset in ["ISO-8859-1", "windows-1252", "unheard-of", nil] {
      let references = LinkExtractor.references(in: latin, charset: charset)
      #expect(references.all == [Reference(.link, "\u{E9}")], "\(charset ?? "none")")
    }
    #expect(texts(html, .link) == ["\u{E9}"])
    // 0xE9 is a Cyrillic letter in KOI8-R.
    let declared = Array("<meta charset=koi8-r>".utf8) + latin
    #expect(
      LinkExtractor.references(in: declared, charset: nil).all == [Reference(.link, "\u{418}")])
    let wide: [UInt8] = html.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    #expect(
      LinkExtractor.references(in: [0xFF, 0xFE] + wide, charset: nil).all
        == [Reference(.link, "\u{E9}")])
    #expect(
      LinkExtractor.references(in: wide, charset: "utf-16le").all == [Reference(.link, "\u{E9}")])
  }

  @Test func `deep nesting ends`() {
    let deep = String(repeating: "<b>", count: 100_000) + "<a href=x>"
    #expect(found("<a href=y>" + deep + String(repeating: "</i>", count: 100_000)).all.count == 1)
    let usual = String(repeating: "<b>", count: 1000) + "<a href=x>"
    #expect(found(usual).all.count == 1)
  }

  @Test func `a byte that is no UTF-8 spoils one link, not those after it`() {
    var bytes = Array((0..<300).map { "<a href='/\u{E9}\($0)'>x</a>\n" }.joined().utf8)
    bytes[10] = 0xFF
    let found = LinkExtractor.references(in: bytes, charset: "UTF-8")
    #expect(found.all.count == 300)
    #expect(found.all.dropFirst().map(\.text) == (1..<300).map { "/\u{E9}\($0)" })
  }

  @Test func `a NUL is not the end of a document`() {
    #expect(texts("<a href=x>\0<a href='y\0'><p\0><a href=z>", .link) == ["x", "y", "z"])
  }

  @Test(arguments: [nil, "windows-1252", "iso-8859-15", "utf-8"])
  func `a NUL is not the end of a document in another encoding`(charset: String?) {
    let bytes = Array("<a href=x>".utf8) + [0xE9, 0] + Array("<a href='y\0'><p\0><a href=z>".utf8)
    let found = LinkExtractor.references(in: bytes, charset: charset)
    #expect(found.all.map(\.text) == ["x", "y", "z"])
  }

  @Test func `a base that is too long is none`() {
    let long = String(repeating: "a", count: References.maximumLength + 1)
    let cut = found("<base href='/\(long)/'><a href=x>")
    #expect(cut.base == nil && cut.cut == "it has a base of more than 8192 bytes")
    #expect(found("<base href='/b/'><a href=x>").base == "/b/")
  }

  @Test(
    arguments: [
      "<a b=x ", "<a b=x\" ", "<a b' ", "<!-- <a b=\" --><p ", "<script>'<a b=\\\"'</script><p ",
    ])
  func `reading ends when it takes too long, also within a tag`(tag: String) {
    let attributes = (0..<50_000).map { "a\($0) " }.joined()
    for isWide in [false, true] {
      let text = "<a href=y>" + tag + attributes + "><a href=x>"
      let bytes = isWide ? text.utf16.flatMap { [UInt8($0), 0] } : Array(text.utf8)
      var steps = 0
      let found = LinkExtractor.references(in: bytes, charset: isWide ? "utf-16le" : nil) {
        steps += 1
        return steps > 20
      }
      #expect(found.cut != nil && steps == 21)
      #expect(found.all == [Reference(.link, "y")])
    }
  }

  @Test func `the number and the length of references are bounded`() {
    for (start, reference, end) in [
      ("", "<img src=x>", ""), ("<style>", "a{b:url(x)}", "</style>"),
      ("<img srcset='", "x, ", "'>"),
    ] {
      for (more, kinds) in [(0, []), (1, [.requisite])] as [(Int, Set<Reference.Kind>)] {
        let many = String(repeating: reference, count: References.maximumCount + more)
        let found = found("<a href=y></a>" + start + many + end + "<a href=z></a>")
        #expect(found.all.count == References.maximumCount + 2, "\(reference)")
        #expect(found.crowdedKinds == kinds && found.cut == nil, "\(reference)")
      }
    }
    let long = String(repeating: "x", count: References.maximumLength + 1)
    #expect(found("<img src=\(long)>").all.isEmpty)
    let beginning = String(repeating: "x", count: 512)
    #expect(found("<img src=\(long)>").long == [Reference(.requisite, beginning)])
    #expect(found("<a href='#\(long)'>").long == [] && found("<a href='#\(long)'>").all.isEmpty)
    #expect(found("<a href='y#\(long)'>").all == [Reference(.link, "y")])
  }
}
