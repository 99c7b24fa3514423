extension CacheRules {
  /// Returns the fields that are stored with a response (RFC 9111, section 3.1).
  ///
  /// Left out are those of the connection and of the proxy, those that `Connection` names, and in a
  /// shared cache those that `private` names. A `Date` is added where there is none (RFC 9110,
  /// section 6.6.1).
  ///
  /// - Parameter time: When the response was received.
  public func fieldsToStore(_ fields: HTTPFields, receivedAt time: HTTPDate) -> HTTPFields {
    let facts = ResponseFacts(fields, rules: self, now: time)
    let listed = ListSyntax.members(of: "Connection", in: fields)
      .map { String(decoding: $0, as: UTF8.self) }
    var stored = HTTPFields(
      fields.filter { field in
        !Self.unstored.contains { field.isNamed($0) }
          && !listed.contains { field.isNamed($0) }
          && !(isShared && facts.directives.isPrivate.names(field.name))
      })
    if !stored.contains("Date") { stored.append(HTTPField("Date", time.description)) }
    return stored
  }

  /// Returns the fields of an answer that is made from a stored response (RFC 9111, section 4).
  ///
  /// `Age` tells the current age. After a validation it stands only where the validating response
  /// came with one: its presence says that the origin was not asked (RFC 9111, section 5.1). Fields
  /// that `no-cache` names are left out unless the response was validated.
  ///
  /// - Parameter validated: Whether the origin has just confirmed the response.
  public func fieldsToServe(
    _ response: StoredResponse, at now: HTTPDate, validated: Bool
  ) -> HTTPFields {
    let noCache = response.facts.directives.noCache
    let hadAge = response.fields.contains("Age")
    var served = HTTPFields(
      response.fields.filter { field in
        !field.isNamed("Age") && (validated || !noCache.names(field.name))
      })
    if !validated || hadAge {
      served.append(HTTPField("Age", String(currentAge(of: response, at: now))))
    }
    return served
  }

  /// Names the fields that concern one connection (RFC 9110, section 7.6.1) or one proxy (RFC 9111,
  /// section 3.1).
  private static let unstored = [
    "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
  ]
}
