import CacheFormat
import CacheStore
import Testing

@testable import CachingProxy

@Suite struct StoreSurveyTests {
  @Test func `A survey tells what fills the store`() throws {
    let tested = try StatusUnderTest()
    try tested.put("http://a.test/img/1", length: 3000, type: "Image/PNG; q=1")
    try tested.put("http://a.test/2", length: 50)
    try tested.put("http://b.test/3", length: 200, type: nil)
    let survey = try #require(StoreSurvey(of: tested.store) { false })
    #expect(survey.entries == 3)
    #expect(survey.hosts.map(\.name) == ["a.test", "b.test"])
    #expect(survey.hosts.map(\.bytes) == [3050, 200])
    #expect(survey.folders.map(\.name) == ["a.test/img/", "b.test/", "a.test/"])
    #expect(survey.types.map(\.name) == ["image/png", "", "text/html"])
    #expect(survey.largest.map(\.bytes) == [3000, 200, 50])
  }

  @Test func `The entry that was used the longest ago comes first`() throws {
    let tested = try StatusUnderTest()
    for number in 0..<30 { try tested.put("http://a.test/\(number)", length: 10 + number) }
    for number in 0..<30 where number != 17 {
      _ = tested.store.lookUp(ByteString("GET http://a.test/\(number)"))
    }
    let survey = try #require(StoreSurvey(of: tested.store) { false })
    #expect(survey.oldest.count == 10)
    #expect(survey.oldest.first?.url == "http://a.test/17")
    #expect(survey.largest.map(\.bytes) == Array((30...39).reversed()))
  }

  @Test func `A walk ends when it is told to`() throws {
    let tested = try StatusUnderTest()
    try tested.put("http://a.test/1", length: 1)
    #expect(StoreSurvey(of: tested.store) { true } == nil)
  }
}
