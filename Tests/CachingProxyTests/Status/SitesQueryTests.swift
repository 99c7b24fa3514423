import CacheFormat
import Testing

@testable import CachingProxy

struct SitesQueryTests {
  @Test func `A form's spaces and escapes are read, and the last value counts`() {
    let query = SitesQuery("q=a&x=y&q=b+c%26d&host=a.test:81&token=t")
    #expect(query.search == "b c&d")
    #expect(query.host == "a.test:81")
    #expect(query.token == "t")
  }

  @Test(arguments: ["host=a.test/b", "host=", "host=a+b", "host=u@a.test"])
  func `What is no host is none`(text: String) {
    #expect(SitesQuery(text).host == nil)
  }

  @Test func `A query beyond the limit is empty`() {
    let longest = "q=" + String(repeating: "a", count: SitesQuery.maximumBytes - 2)
    #expect(SitesQuery(longest).search.utf8.count == SitesQuery.maximumBytes - 2)
    #expect(SitesQuery(longest + "a") == SitesQuery(""))
  }

  @Test(arguments: ["a", "\u{E4} &=+#\"<", "_~.-"])
  func `An address leads to the same search`(search: String) throws {
    var query = SitesQuery("")
    for address in [query.list, query.forgetting("a.test", token: "t")] {
      #expect(!address.contains("\""))
    }
    let typed = search.utf8.map { "%" + String(0x100 + Int($0), radix: 16).dropFirst() }.joined()
    query = SitesQuery("q=" + typed)
    #expect(query.search == search)
    for address in [query.list, query.forgetting("a.test", token: "t")] {
      let parts = address.split(separator: "?")
      #expect(parts.count == 2)
      #expect(SitesQuery(String(parts[1])).search == search)
    }
  }
}
