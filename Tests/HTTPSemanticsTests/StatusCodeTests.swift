import Testing

@testable import HTTPSemantics

struct StatusCodeTests {
  @Test func `the lists are those of the standards`() {
    let all = 0...999
    #expect(
      all.filter(StatusCode.isHeuristicallyCacheable)
        == [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501])
    #expect(all.filter(StatusCode.isServerFailure) == [500, 502, 503, 504])
    let understood = all.filter(StatusCode.isUnderstood)
    #expect(understood.count == 7 + 6 + 2 + 18 + 3 + 6)
    for status in [100, 199, 207, 306, 309, 418, 423, 506, 511, 600] {
      #expect(!understood.contains(status), "\(status)")
    }
  }
}
