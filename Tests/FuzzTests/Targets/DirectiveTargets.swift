@testable import HTTPSemantics

/// Reads a line of `Cache-Control` of a response and of a request.
func fuzzCacheControl(_ line: [UInt8]) {
  checkMembers(of: line)
  let response = responseDirectives([line])
  for seconds in [
    response.maxAge, response.sMaxAge, response.staleIfError, response.staleWhileRevalidate,
  ] {
    require(seconds.map(isDeltaSeconds) ?? true, "a lifetime is within delta-seconds")
  }
  for case .fields(let names) in [response.noCache, response.isPrivate] {
    require((1...FieldList.maximumNames).contains(names.count), "a field list is limited")
    require(names.allSatisfy { HTTPField.isToken($0) }, "a field list has names")
  }
  let uppercase = line.map { byte in
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte & ~0x20 : byte
  }
  require(responseDirectives([uppercase]) == response, "case makes no difference")
  require(responseDirectives(members(of: line)) == response, "lines are one list")
  let forbidding = responseDirectives([line + Array(", no-store".utf8)])
  require(forbidding.noStore, "nothing hides a directive that follows")

  let request = RequestDirectives(fields("Cache-Control", [line]))
  for seconds in [request.maxAge, request.minFresh, request.staleIfError] {
    require(seconds.map(isDeltaSeconds) ?? true, "a wish is within delta-seconds")
  }
  require(
    RequestDirectives(fields("cache-control", [uppercase])) == request, "case makes no difference")
  checkReuse(line, request)
}

/// Checks that members lie apart in their order, and that nothing but commas and white space lies
/// between them.
private func checkMembers(of line: [UInt8]) {
  var cursor = ListSyntax.Cursor()
  var end = 0
  while let member = cursor.next(in: line.span) {
    require(member.lowerBound >= end && !member.isEmpty, "members follow each other")
    require(member.upperBound <= line.count, "members lie within the line")
    require(line[end..<member.lowerBound].allSatisfy(isSeparator), "nothing is left out")
    require(!isSeparator(line[member.lowerBound]), "no separator begins a member")
    end = member.upperBound
  }
  require(line[end...].allSatisfy(isSeparator), "nothing is left out at the end")
}

private func isSeparator(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: ",") || byte == 0x20 || byte == 0x09
}

private func members(of line: [UInt8]) -> [[UInt8]] {
  var cursor = ListSyntax.Cursor()
  var members: [[UInt8]] = []
  while let member = cursor.next(in: line.span) { members.append(Array(line[member])) }
  return members
}

private func fields(_ name: String, _ lines: [[UInt8]]) -> HTTPFields {
  HTTPFields(lines.map { HTTPField(name: name, value: $0) })
}

private func responseDirectives(_ lines: [[UInt8]]) -> ResponseDirectives {
  ResponseDirectives(fields("Cache-Control", lines), rules: CacheRules())
}

/// Checks that decisions fit the numbers that they are made from.
private func checkReuse(_ line: [UInt8], _ request: RequestDirectives) {
  for role in [CacheRules.Role.privateCache, .sharedCache] {
    let rules = CacheRules(role: role)
    let stored = StoredResponse(
      status: 200, fields: fields("Cache-Control", [line]), requestTime: received,
      responseTime: received, selection: .none, rules: rules)
    let lifetime = rules.freshnessLifetime(of: stored)
    require(isDeltaSeconds(lifetime), "a lifetime is within delta-seconds")
    for passed in [0, 1, lifetime, lifetime + 1, Int64.max - received.seconds] {
      let now = HTTPDate(seconds: received.seconds + passed)
      let age = rules.currentAge(of: stored, at: now)
      switch rules.reuse(of: stored, for: request, at: now) {
      case .fresh(let ttl): require(ttl > 0 && ttl == lifetime - age, "what is fresh has time")
      case .stale(let seconds, _):
        require(seconds >= 0 && seconds == age - lifetime, "what is stale has had its time")
      case .mustValidate(.stale(let seconds)):
        require(seconds >= 0 && seconds == age - lifetime, "what is stale has had its time")
      case .mustValidate: break
      }
    }
  }
}

/// Reads a structured dictionary, as targeted fields are.
func fuzzDictionary(_ value: [UInt8]) {
  var rules = CacheRules(role: .sharedCache)
  rules.targetedFields = CacheRules.fieldsForCDNs
  let directives = ResponseDirectives(fields("CDN-Cache-Control", [value]), rules: rules)
  for seconds in [directives.maxAge, directives.sMaxAge, directives.staleIfError] {
    require(seconds.map(isDeltaSeconds) ?? true, "a lifetime is within delta-seconds")
  }
  guard let dictionary = StructuredDictionary(value) else {
    require(!directives.isTargeted, "what is malformed has no effect")
    return
  }
  let keys = dictionary.members.map(\.key)
  require(Set(keys).count == keys.count, "each key is there once")
  require(keys.count <= StructuredDictionary.maximumMembers, "members are limited")
  let text = dictionary.members.map { "\($0.key)=\(serialized($0.value))" }.joined(separator: ", ")
  require(StructuredDictionary(Array(text.utf8)) == dictionary, "a round trip changes nothing")
}

private func serialized(_ value: StructuredDictionary.Value) -> String {
  switch value {
  case .integer(let number): "\(number)"
  case .string(let text): QuotedString.quote(text)
  case .token(let text): text
  case .byteSequence(let digits): ":\(digits):"
  case .boolean(let flag): flag ? "?1" : "?0"
  case .other: "1.5"
  }
}
