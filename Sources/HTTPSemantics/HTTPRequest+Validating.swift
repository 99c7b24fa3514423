extension HTTPRequest {
  /// The most entity tags that one request asks about.
  public static let maximumValidatedTags = 32

  /// Returns the request that asks the origin whether stored responses are still current (RFC 9111,
  /// section 4.3.1).
  ///
  /// `If-None-Match` and `If-Modified-Since` of the request itself give way to those of the stored
  /// responses; against them the request is evaluated once the answer is there. All other fields
  /// stay, those that select (`Vary`) among them. The request comes back unchanged if no stored
  /// response has a validator.
  ///
  /// - Parameter stored: The stored responses in the order of preference; with several of them
  ///   only their tags are sent, since a date does not tell which one is meant.
  public func validating(_ stored: [StoredResponse]) -> HTTPRequest {
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
      // The bytes as they came: servers are known to compare them as text.
      request.fields.append(HTTPField(name: "If-Modified-Since", value: date.value))
    }
    return request
  }

  /// Returns the request for the bytes that are missing from a stored partial response (RFC 9111,
  /// section 3.4), which the origin answers with all of them if the representation has changed.
  ///
  /// Returns nil if the stored response has no strong validator: then nothing tells whether the
  /// new bytes belong to the old ones. The request's own conditions and `Range` are replaced.
  ///
  /// - Parameters:
  ///   - missing: The positions; where they end with the representation, `Range` is open.
  ///   - stored: The 206 response that is to be completed.
  public func completing(
    _ missing: ClosedRange<UInt64>, of stored: StoredResponse
  ) -> HTTPRequest? {
    let validators = Validators(stored)
    guard validators.isStrong else { return nil }
    let name = validators.entityTag == nil ? "Last-Modified" : "ETag"
    guard let validator = stored.fields.first(named: name) else { return nil }
    let isOpen = stored.contentRange?.completeLength.map { $0 - 1 } == missing.upperBound
    let last = isOpen ? "" : String(missing.upperBound)
    return asking(forBytes: "\(missing.lowerBound)-\(last)", if: validator)
  }

  /// Returns the request for a range, under the condition of a strong validator and no other.
  func asking(forBytes range: String, if validator: HTTPField) -> HTTPRequest {
    var request = self
    for name in ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"] {
      request.fields.removeAll(named: name)
    }
    request.fields.replace(with: HTTPField("Range", "bytes=\(range)"))
    request.fields.replace(with: HTTPField(name: "If-Range", value: validator.value))
    return request
  }

  /// Returns the request that asks whether a copy with these fields is still current, by both of its
  /// validators.
  package func confirming(_ copy: HTTPFields) -> HTTPRequest {
    var request = self
    for (field, condition) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
      request.fields.removeAll(named: condition)
      guard let validator = copy.first(named: field) else { continue }
      request.fields.append(HTTPField(name: condition, value: validator.value))
    }
    return request
  }

  /// Returns the tags to send, each once.
  ///
  /// One that is malformed goes only alone: within a list it could be read as several others. One
  /// that would be read as "any" or as several even alone never goes.
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
