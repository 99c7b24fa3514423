import CacheFormat

@testable import HTTPSemantics

/// Reads a value as a date.
func fuzzDates(_ value: [UInt8]) {
  guard let date = HTTPDate(value, now: received) else { return }
  let years = CivilTime.earliest...CivilTime.latest
  require(years.contains(date.seconds), "a date has a year of four digits")
  require(HTTPDate(date.description, now: received) == date, "a round trip changes nothing")
  let flipped = value.map { byte in ASCII.isLetter(byte) ? byte ^ 0x20 : byte }
  require(HTTPDate(flipped, now: received) == date, "case makes no difference")
  if value.count == date.description.utf8.count {
    // An IMF-fixdate: all but the day of the week and a leap second comes out as it went in.
    let text = String(decoding: value, as: UTF8.self).replacing(":60 ", with: ":59 ")
    require(
      text.dropFirst(3).lowercased() == date.description.dropFirst(3).lowercased(),
      "a day that the calendar does not have is no date")
  }
  require(HTTPDate(value + [0x20], now: received) == nil, "nothing follows a date")
}

/// Reads the lines of an input as the fields of a response, with `:` between name and value, and
/// takes it through storing and serving.
func fuzzFields(_ bytes: [UInt8]) {
  let lines = bytes.split(separator: 0x0A).map { line in
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
    return HTTPField(
      name: String(decoding: parts.first ?? [], as: UTF8.self),
      value: parts.count > 1 ? Array(parts[1]) : [])
  }
  let status = 200 + bytes.count % 10
  let fields = HTTPFields(lines)
  for role in [CacheRules.Role.privateCache, .sharedCache] {
    let rules = CacheRules(role: role)
    let head = HTTPResponseHead(status: status, fields: fields)
    let reason = rules.whyNotStored(request(fields), head, now: received)
    let kept = rules.fieldsToStore(fields, receivedAt: received)
    require(kept.contains("Date"), "what is stored has a date")
    require(!kept.contains { ConnectionFields.isHopByHop($0.name) }, "no field of the connection")
    require(
      rules.fieldsToStore(kept, receivedAt: received) == kept, "storing again changes nothing")
    let selection = Selection(varyOf: fields, request: fields, conceal: { $0.reversed() })
    require(selection != nil || reason != nil, "what cannot be selected is not stored")
    require(
      selection?.matches(fields, conceal: { $0.reversed() }) ?? true,
      "a response fits the request that it was made for")
    checkServing(kept, status: status, selection: selection ?? .none, rules: rules)
  }
}

private func checkServing(
  _ fields: HTTPFields, status: Int, selection: Selection, rules: CacheRules
) {
  let stored = StoredResponse(
    status: status, fields: fields, requestTime: received, responseTime: received,
    selection: selection, rules: rules)
  var youngest: Int64 = 0
  for now in [.min, received.seconds - 1, received.seconds, received.seconds + 60, .max] {
    let now = HTTPDate(seconds: now)
    let age = rules.currentAge(of: stored, at: now)
    require(isDeltaSeconds(age), "an age is within delta-seconds")
    require(age >= youngest, "nothing becomes younger with time")
    youngest = age
    let served = rules.fieldsToServe(stored, at: now, validated: false)
    require(served.all(named: "Age").map(\.text) == ["\(age)"], "Age tells the age")
  }
  require(isDeltaSeconds(rules.freshnessLifetime(of: stored)), "a lifetime has its range")
}
