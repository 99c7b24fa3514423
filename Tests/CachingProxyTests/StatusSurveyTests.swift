import CacheFormat
import CacheStore
import Testing

@testable import CachingProxy

@Suite struct StatusSurveyTests {
  @Test func `The highest ranks are kept, in order`() {
    var top = BoundedTop<Int, String>(capacity: 3)
    for rank in [5, 1, 9, 5, 7, 0, 7] { top.offer(rank, "\(rank)") }
    #expect(top.elements == ["9", "7", "7"])
  }

  @Test func `Of equal ranks the first stays, and none is made in vain`() {
    var top = BoundedTop<Int, Int>(capacity: 2)
    var made = 0
    for number in 0..<10 {
      top.offer(
        1,
        {
          made += 1
          return number
        }())
    }
    #expect(top.elements == [0, 1])
    #expect(made == 2)
  }

  @Test func `Names are summed up, the heaviest first`() {
    var names = WeightedNames()
    names.add("b", bytes: 10)
    names.add("a", bytes: 5)
    names.add("a", bytes: 6)
    names.add("c", bytes: 10)
    #expect(
      names.heaviest(2) == [
        WeightedNames.Weight(name: "a", entries: 2, bytes: 11),
        WeightedNames.Weight(name: "b", entries: 1, bytes: 10),
      ])
  }

  @Test func `Too many names give up light ones, never heavy ones`() {
    var names = WeightedNames()
    for number in 0..<20_000 {
      names.add("n\(number)", bytes: 1)
      if number % 2000 == 0 { names.add("heavy", bytes: 1000) }
    }
    #expect(names.heaviest(1) == [.init(name: "heavy", entries: 10, bytes: 10_000)])
    #expect(names.heaviest(.max).count <= WeightedNames.maximumNames)
  }

  @Test(
    arguments: [
      ("GET http://a.test/x/y.png", "http://a.test/x/y.png", "a.test", "a.test/x/"),
      ("GET http://a.test:81/x?y/z", "http://a.test:81/x?y/z", "a.test:81", "a.test:81/"),
      ("GET http://a.test?b", "http://a.test?b", "a.test", "a.test/"),
      ("http://[::1]:80/", "http://[::1]:80/", "[::1]:80", "[::1]:80/"),
      (
        "GET http://a.test/u/http://b.test/", "http://a.test/u/http://b.test/", "a.test",
        "a.test/u/"
      ),
      ("://", "://", "", "/"),
    ])
  func `A key says what it is of`(key: String, url: String, host: String, folder: String) {
    let name = StoredName(key: ByteString(key))
    #expect(name.url == url)
    #expect(name.host == host)
    #expect(name.folder == folder)
  }

  @Test(arguments: ["", "a key of one's own", "http:/", ":/"])
  func `A key without a URL is its own name`(key: String) {
    let name = StoredName(key: ByteString(key))
    #expect(name.url == key)
    #expect(name.host == nil)
    #expect(name.folder == nil)
  }

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

  @Test func `A survey is made again when it is two seconds old`() throws {
    let tested = try StatusUnderTest()
    // Patient, for on a busy machine even a short walk may take a while.
    let surveyor = StoreSurveyor(
      tested.store, clock: tested.clock, patienceNanoseconds: 60_000_000_000)
    #expect(surveyor.survey()?.entries == 0)
    try tested.put("http://a.test/1", length: 1)
    tested.clock.advance(seconds: 1)
    #expect(surveyor.survey()?.entries == 0)
    tested.clock.advance(seconds: 1)
    #expect(surveyor.survey()?.entries == 1)
    surveyor.stop()
  }

  @Test func `After the end no walk begins`() throws {
    let tested = try StatusUnderTest()
    let surveyor = StoreSurveyor(tested.store, clock: tested.clock)
    surveyor.stop()
    #expect(surveyor.survey() == nil)
  }
}
