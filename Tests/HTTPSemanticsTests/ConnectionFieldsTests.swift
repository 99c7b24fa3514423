import HTTPSemantics
import Testing

struct ConnectionFieldsTests {
  @Test(arguments: [
    "Connection", "keep-alive", "Proxy-Connection", "TE", "Transfer-Encoding", "UPGRADE",
  ])
  func `fields of the connection end at the next hop`(name: String) {
    #expect(ConnectionFields.isHopByHop(name))
    #expect(
      ConnectionFields.removed(from: [HTTPField(name, "x"), HTTPField("A", "1")])
        == [HTTPField("A", "1")])
  }

  @Test(arguments: ["Cache-Control", "Date", "ET", "Upgraded", "Trailer", "Content-Encoding", ""])
  func `other fields are passed on`(name: String) {
    #expect(!ConnectionFields.isHopByHop(name))
    #expect(!ConnectionFields.isForProxies(name))
  }

  @Test(arguments: ["Proxy-Authenticate", "proxy-authorization", "Proxy-Authentication-Info"])
  func `fields for proxies are known`(name: String) {
    #expect(ConnectionFields.isForProxies(name))
    #expect(!ConnectionFields.isHopByHop(name))
  }

  @Test func `fields that Connection names are removed`() {
    let fields: HTTPFields = [
      HTTPField("A", "1"), HTTPField("Connection", "close, a ,,B"), HTTPField("b", "2"),
      HTTPField("C", "3"), HTTPField("connection", "D;x, d"), HTTPField("D", "4"),
      HTTPField("C", "5"),
    ]
    #expect(ConnectionFields.removed(from: fields) == [HTTPField("C", "3"), HTTPField("C", "5")])
  }

  @Test func `Connection cannot take away what guards a response`() {
    let guards: HTTPFields = [
      HTTPField("Cache-Control", "no-store"), HTTPField("Vary", "Cookie"), HTTPField("Host", "h"),
      HTTPField("Content-Length", "1"), HTTPField("Age", "1"), HTTPField("Date", "d"),
      HTTPField("Content-Encoding", "gzip"), HTTPField("Content-Range", "bytes 0-0/1"),
      HTTPField("Expires", "0"),
    ]
    let names = guards.map(\.name).joined(separator: ",")
    #expect(
      ConnectionFields.removed(from: HTTPFields(guards + [HTTPField("Connection", names)]))
        == guards)
  }

  @Test func `ten thousand fields that name each other are handled`() {
    var fields = HTTPFields()
    for index in 0..<5000 {
      fields.append(HTTPField("Connection", "n\(index)"))
      fields.append(HTTPField("N\(index)", "x"))
    }
    #expect(ConnectionFields.removed(from: fields).isEmpty)
  }
}
