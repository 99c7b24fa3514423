extension HTTPRequest {
  /// The maximum number of entity tags in one request.
  public static let maximumValidatedTags = 32

  /// Returns the request that asks the origin whether stored responses are still current (RFC 9111,
  /// section 4.3.1).
  ///
  /// `If-None-Match` and `If-Modified-Since` of the request itself are replaced by those for the
  /// stored responses; they are evaluated once the response is there. All other fields are kept,
  /// including those that `Vary` names. If no stored response has a validator, the request is
  /// returned unchanged. A response with another status than 2xx is not asked about: a 304 means that
  /// the answer would be 200 (RFC 9110, section 15.4.5).
  ///
  /// - Parameter stored: The stored responses, the preferred one first. If there are several, only
  ///   their tags are sent, because a date does not identify one of them.
  public func validating(_ stored: [StoredResponse]) -> HTTPRequest {
    let stored = stored.filter { (200...299).contains($0.status) }
    let tags = Self.tags(of: stored)
    var date: HTTPField?
    if stored.count == 1, stored[0].facts.lastModified != nil {
      date = stored[0].fields.first(named: "Last-Modified")
    }
    guard !tags.isEmpty || date != nil else { return self }
    var request = self
    request.fields.removeAll(named: "If-None-Match")
    request.fields.removeAll(named: "If-Modified-Since")
    if !tags.isEmpty {
      let value = Array(tags.map(\.bytes).joined(separator: Array(", ".utf8)))
      request.fields.append(HTTPField(name: "If-None-Match", value: value))
    }
    if let date {
      // The bytes as they were received, because some servers compare them as text.
      request.fields.append(HTTPField(name: "If-Modified-Since", value: date.value))
    }
    return request
  }

  /// Returns the request for a range with a strong validator as its only condition.
  func asking(forBytes range: String, if validator: HTTPField) -> HTTPRequest {
    var request = self
    for name in ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"] {
      request.fields.removeAll(named: name)
    }
    request.fields.replace(with: HTTPField("Range", "bytes=\(range)"))
    request.fields.replace(with: HTTPField(name: "If-Range", value: validator.value))
    return request
  }

  /// Returns the request that validates a copy with these fields, with both of its validators.
  package func confirming(_ copy: HTTPFields) -> HTTPRequest {
    var request = self
    for (field, condition) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
      request.fields.removeAll(named: condition)
      guard let validator = copy.first(named: field) else { continue }
      request.fields.append(HTTPField(name: condition, value: validator.value))
    }
    return request
  }

  /// Returns the tags to send, without duplicates.
  ///
  /// A malformed tag is sent only if it is the only one: in a list it could be read as several
  /// tags. It is never sent if it could be read as "any" or as several tags even then.
  private static func tags(of stored: [StoredResponse]) -> [EntityTag] {
    var tags: [EntityTag] = []
    for tag in stored.lazy.compactMap(\.facts.entityTag) where !tags.contains(tag) {
      if tag.isWellFormed || stored.count == 1 && isUnambiguous(tag.bytes) {
        tags.append(tag)
      }
      if tags.count == maximumValidatedTags { break }
    }
    return tags
  }

  private static func isUnambiguous(_ tag: [UInt8]) -> Bool {
    !tag.contains(UInt8(ascii: ",")) && !tag.elementsEqual("*".utf8)
  }
}
