/// Makes a request for a path of one host.
package func request(
  _ path: String = "/a", _ fields: HTTPFields = [], method: String = "GET"
) -> HTTPRequest {
  guard let url = try? NormalizedURL("http://example.com\(path)") else {
    preconditionFailure("\(path) is no path")
  }
  return HTTPRequest(method: HTTPMethod(rawValue: method), url: url, fields: fields)
}

/// Makes fields of an answer that may be stored and is fresh for a time.
package func fresh(_ seconds: Int = 1000, tag: String? = nil, vary: String? = nil) -> HTTPFields {
  var fields: HTTPFields = [HTTPField("Cache-Control", "max-age=\(seconds)")]
  if let tag { fields.append(HTTPField("ETag", "\"\(tag)\"")) }
  if let vary { fields.append(HTTPField("Vary", vary)) }
  return fields
}

/// Makes pieces of these sizes, in which every place has its own bytes.
package func pieces(_ sizes: [Int], seed: UInt64 = 1) -> [[UInt8]] {
  var random = SplitMix64(seed: seed)
  return sizes.map { random.bytes($0) }
}

/// Makes bytes that repeat nothing.
package func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var random = SplitMix64(seed: seed)
  return random.bytes(count)
}
