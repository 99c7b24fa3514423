import CacheFormat
import CacheStore
import TestSupport
import Testing

@testable import CachingProxy

@Suite struct StoreSurveyorTests {
  @Test func `A survey is made again when it is two seconds old`() throws {
    let tested = try StatusUnderTest()
    // Patient, for on a busy machine even a short walk may take a while.
    let surveyor = StoreSurveyor(
      tested.store, clock: tested.clock, patienceNanoseconds: 60_000_000_000)
    #expect(surveyor.survey()?.entries == 0)
    try tested.put("http://a.test/1", length: 1)
    tested.clock.advance(bySeconds: 1)
    #expect(surveyor.survey()?.entries == 0)
    tested.clock.advance(bySeconds: 1)
    #expect(surveyor.survey()?.entries == 1)
    surveyor.stop()
  }

  @Test func `After the end no walk begins`() throws {
    let tested = try StatusUnderTest()
    let surveyor = StoreSurveyor(
      tested.store, clock: tested.clock, patienceNanoseconds: 60_000_000_000)
    surveyor.stop()
    #expect(surveyor.survey() == nil)
  }
}
