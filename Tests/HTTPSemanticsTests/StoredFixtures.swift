import HTTPSemantics
import TestSupport

/// Makes the values that the tests of conditions and ranges share.
enum Stored {
  /// Wed, 01 Jan 2020 12:00:00 GMT.
  static let noon = HTTPDate(seconds: 1_577_880_000)

  static func response(
    _ fields: HTTPFields, status: Int = 200, at time: HTTPDate = noon
  ) -> StoredResponse {
    StoredResponse(
      status: status, fields: fields, requestTime: time, responseTime: time, selection: .none,
      bodyDate: fields.date(now: time), rules: CacheRules())
  }

  /// Makes a stored 206 with a `Content-Range` and, unless nil, a tag.
  static func part(_ range: String, tag: String? = "\"a\"") -> StoredResponse {
    var fields: HTTPFields = [HTTPField("Content-Range", "bytes " + range)]
    if let tag { fields.append(HTTPField("ETag", tag)) }
    return response(fields, status: 206)
  }

  static func get(_ fields: HTTPFields = [], method: HTTPMethod = .get) throws -> HTTPRequest {
    HTTPRequest(method: method, url: try NormalizedURL("http://h/a"), fields: fields)
  }

  /// Returns the time so many seconds after noon as it stands in a field.
  static func date(_ seconds: Int64) -> String {
    HTTPDate(seconds: noon.seconds + seconds).description
  }
}

extension SplitMix64 {
  /// Returns a text of these letters, at most so long.
  mutating func text(of letters: [UInt8], upTo count: Int) -> [UInt8] {
    (0..<Int.random(in: 0...count, using: &self)).compactMap { _ in
      letters.randomElement(using: &self)
    }
  }
}
