import SiteParsing
import Testing

@Suite struct StyleScannerTests {
  private func found(_ css: String) -> [String] {
    StyleScanner.references(in: Array(css.utf8))
  }

  @Test(arguments: [
    ("p{background:url(a.png)}", ["a.png"]), ("p{background:URL( 'a b.png' )}", ["a b.png"]),
    ("@import \"a.css\";", ["a.css"]), ("@IMPORT url(a.css) screen;", ["a.css"]),
    ("@import'a.css'layer(x);p{content:'b'}", ["a.css"]),
    ("@font-face{src:url(a.woff2)format(\"woff2\"),url('a.ttf')}", ["a.woff2", "a.ttf"]),
    (
      "p{background:image-set('a.png' 1x,url(b.png) 2x type('image/png'))}",
      ["a.png", "b.png", "image/png"]
    ),
    ("p{background:-webkit-image-set(url(a) 1x);content:'b'}", ["a"]),
    ("p{background:url(a\\(1\\).png)}", ["a(1).png"]), ("p{background:url(\\61 b)}", ["ab"]),
    ("p{b:\\75rl(a)}", ["a"]), ("p{b:url('a\\\nb')}", ["ab"]), ("p{b:url(a", ["a"]),
    ("/* url(a) */p{b:url(b)}", ["b"]), ("p{b:'url(a)';c:url(b)}", ["b"]),
    ("p{b:url('a\n)}q{b:url(c)}", ["c"]), ("/* url(a)", []), ("p{content:'a'}", []),
    ("@charset 'utf-8';@import 'a'", ["a"]), ("p{b:curl(a)}", []), ("p{b:url()}", [""]),
    ("@media (min-width:1px){p{b:url(a)}}", ["a"]), ("", []), ("\\", []), ("@import", []),
    ("p{b:url(\u{E9}.png)}", ["\u{E9}.png"]), ("p{b:url(\\0)}", ["\0"]),
    ("p{b:src('a')}", ["a"]), ("p{b:url('a' crossorigin(x))}q{b:url(c)}", ["a", "c"]),
  ])
  func `the URLs of a style sheet are found`(css: String, urls: [String]) {
    #expect(found(css) == urls)
  }

  @Test func `their number is bounded`() {
    let css = String(repeating: "url(a)", count: References.maximumCount + 10)
    #expect(found(css).count == References.maximumCount + 1)
  }
}
