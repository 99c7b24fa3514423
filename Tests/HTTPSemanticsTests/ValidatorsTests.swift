import Testing

@testable import HTTPSemantics

struct ValidatorsTests {
  /// Makes validators; the dates are seconds after noon.
  private func validators(_ tag: String?, modified: Int64? = nil, date: Int64? = nil) -> Validators
  {
    var fields = HTTPFields()
    if let tag { fields.append(HTTPField("ETag", tag)) }
    if let modified { fields.append(HTTPField("Last-Modified", Stored.date(modified))) }
    if let date { fields.append(HTTPField("Date", Stored.date(date))) }
    return Validators(fields, now: Stored.noon)
  }

  @Test func `a date is strong a minute after the change`() {
    #expect(validators(nil, modified: 0, date: 60).hasStrongDate)
    #expect(!validators(nil, modified: 0, date: 59).hasStrongDate)
    #expect(!validators(nil, modified: 0, date: -60).hasStrongDate)
    #expect(!validators(nil, modified: 0).hasStrongDate && !validators(nil, date: 60).hasStrongDate)
  }

  @Test func `a tag says whether a response is strong, and a date only without a tag`() {
    #expect(validators("\"a\"").isStrong)
    #expect(!validators("W/\"a\"", modified: 0, date: 60).isStrong)
    #expect(validators(nil, modified: 0, date: 60).isStrong)
    #expect(validators(nil).isEmpty && validators(nil, date: 0).isEmpty)
    #expect(!validators("a").isEmpty, "a tag without quotes is compared, too")
    #expect(!validators(nil, modified: 0).isEmpty)
  }

  @Test func `bytes are the same by strong tags, or by strong dates where there is no tag`() {
    let (old, new) = (validators("\"a\"", modified: 0, date: 60), validators("\"b\""))
    #expect(old.matchStrongly(validators("\"a\"")) && !old.matchStrongly(new))
    #expect(!validators("W/\"a\"").matchStrongly(validators("\"a\"")))
    #expect(!validators("W/\"a\"").matchStrongly(validators("W/\"a\"")))
    let dated = validators(nil, modified: 0, date: 60)
    #expect(dated.matchStrongly(validators(nil, modified: 0, date: 600)))
    #expect(!dated.matchStrongly(validators(nil, modified: 1, date: 600)))
    let recent = validators(nil, modified: 0, date: 1)
    #expect(!dated.matchStrongly(recent) && !recent.matchStrongly(dated))
    // A tag that is new or missing is better evidence than the same second.
    #expect(!dated.matchStrongly(old) && !old.matchStrongly(dated))
    #expect(!validators(nil).matchStrongly(validators(nil)))
  }

  @Test func `representations are the same by any tag, and by the date if one has no tag`() {
    #expect(validators("W/\"a\"").matchWeakly(validators("\"a\"")))
    #expect(!validators("\"a\"", modified: 0).matchWeakly(validators("\"b\"", modified: 0)))
    #expect(validators(nil, modified: 0).matchWeakly(validators("\"b\"", modified: 0)))
    #expect(!validators(nil).matchWeakly(validators(nil)))
    #expect(!validators(nil, modified: 0).matchWeakly(validators(nil, modified: 1)))
  }
}
