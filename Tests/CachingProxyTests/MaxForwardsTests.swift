import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("Max-Forwards") struct MaxForwardsTests {
  private func head(_ method: String, _ value: String) throws -> RequestHead {
    try RequestHead(
      method: method, target: Array("/".utf8), version: "HTTP/1.1",
      fields: [HTTPField("Host", "a"), HTTPField("Max-Forwards", value)])
  }

  @Test(arguments: [
    ("OPTIONS", "2", "1"), ("TRACE", "1", "0"), ("GET", "0", "0"), ("OPTIONS", "x", "x"),
    ("OPTIONS", "-1", "-1"),
  ])
  func `is counted down where it counts`(method: String, value: String, next: String) throws {
    var head = try head(method, value)
    let answer = head.countForward()
    #expect(answer?.head.status == nil)
    #expect(head.fields.first(named: "Max-Forwards")?.text == next)
  }

  @Test(arguments: [("OPTIONS", 200), ("TRACE", 405)])
  func `at its end keeps the request here`(method: String, status: Int) throws {
    var head = try head(method, "0")
    let answer = head.countForward()
    #expect(answer?.head.status == status)
    #expect(answer?.head.fields.contains("Allow") == true)
  }
}
