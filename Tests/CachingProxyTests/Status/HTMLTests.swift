import Testing

@testable import CachingProxy

@Suite struct HTMLTests {
  @Test func `What is interpolated is escaped, and literals are not`() {
    let text = "<b a='\"'>&amp;</b>"
    let html: HTML = "<p title=\"\(text)\">\(text)</p>"
    let escaped = "&lt;b a=&#39;&quot;&#39;&gt;&amp;amp;&lt;/b&gt;"
    #expect(html.text == "<p title=\"\(escaped)\">\(escaped)</p>")
  }

  @Test func `A piece of HTML goes in as it is`() {
    let inner: HTML = "<i>\("<")</i>"
    #expect(("<p>\(inner)\(3)</p>" as HTML).text == "<p><i>&lt;</i>3</p>")
    #expect(HTML([inner, inner]).text == inner.text + inner.text)
  }

  @Test(
    arguments: [
      "\u{0}", "\u{1B}", "\n", "\u{7F}", "\u{9F}", "\u{200B}", "\u{202E}", "\u{2066}", "\u{FEFF}",
    ])
  func `Characters that would deceive become visible`(character: String) {
    #expect(("\("a\(character)b")" as HTML).text == "a\u{FFFD}b")
  }

  @Test func `Other characters stay`() {
    let text = "Gr\u{FC}\u{DF}e \u{1F388} \u{5E9}\u{5DC}\u{5D5}\u{5DD}"
    #expect(("\(text)" as HTML).text == text)
  }
}
