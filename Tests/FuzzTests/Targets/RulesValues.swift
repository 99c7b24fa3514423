@testable import HTTPSemantics

/// Gives the time at which everything in the targets of HTTP is received.
let received = HTTPDate(seconds: 1_800_000_000)

/// Makes a request for one and the same URL.
func request(_ fields: HTTPFields) -> HTTPRequest {
  guard let url = try? NormalizedURL("http://a/") else { fatalError("http://a/ is a URL") }
  return HTTPRequest(url: url, fields: fields)
}

/// Tells whether a number of seconds is within its range.
func isDeltaSeconds(_ seconds: Int64) -> Bool {
  (0...DeltaSeconds.maximum).contains(seconds)
}
