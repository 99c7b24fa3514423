@testable import HTTPSemantics

/// Reads a value as challenges.
func fuzzChallenges(_ value: [UInt8]) {
  let found = Challenge.all(in: [HTTPField(name: "WWW-Authenticate", value: value)])
  require(found.count <= Challenge.maximumCount, "challenges are bounded")
  for challenge in found {
    require(HTTPField.isToken(challenge.scheme), "a scheme is a token")
    require(
      challenge.token == nil || challenge.parameters.isEmpty, "a token or parameters, not both")
    require(challenge.parameters.count <= Challenge.maximumCount, "parameters are bounded")
    require(
      challenge.parameters.allSatisfy { HTTPField.isToken($0.name) }, "a name is a token")
  }
  // Written in the one normal way it means the same.
  let written = found.map(write).joined(separator: ", ")
  let again = Challenge.all(in: [HTTPField("WWW-Authenticate", written)])
  require(again == found, "a round trip changes nothing: \(written)")
}

private func write(_ challenge: Challenge) -> String {
  if let token = challenge.token { return "\(challenge.scheme) \(token)" }
  let parameters = challenge.parameters.map { "\($0.name)=\(QuotedString.quote($0.value))" }
  return ([challenge.scheme] + [parameters.joined(separator: ",")]).filter { !$0.isEmpty }
    .joined(separator: " ")
}
