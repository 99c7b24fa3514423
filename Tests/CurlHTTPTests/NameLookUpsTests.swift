import Testing

@testable import CurlHTTP

@Suite("Look-ups of names whose transfers have ended") struct NameLookUpsTests {
  @Test func `hold up others if there are too many, until they have ended`() {
    let lookUps = NameLookUps()
    let start = ContinuousClock.now
    for number in 0..<NameLookUps.limit {
      #expect(lookUps.mayBegin(at: start))
      lookUps.abandon(at: start + .milliseconds(number))
    }
    let end = start + NameLookUps.duration
    #expect(!lookUps.mayBegin(at: end - .milliseconds(1)))
    #expect(lookUps.mayBegin(at: end))
    lookUps.abandon(at: end)
    #expect(!lookUps.mayBegin(at: end))
    #expect(lookUps.mayBegin(at: end + .milliseconds(1)))
    // One that was given up when its time was over does not count.
    lookUps.abandon(at: end + .milliseconds(1), begin: start)
    #expect(lookUps.mayBegin(at: end + .milliseconds(1)))
  }
}
