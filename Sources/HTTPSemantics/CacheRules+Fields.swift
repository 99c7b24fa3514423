extension CacheRules {
  /// Returns the fields that are stored with a response (RFC 9111, section 3.1).
  ///
  /// These fields are left out: those of the connection and of the proxy, and those that
  /// `Connection` names; in a shared cache also those that `private` names, and `Set-Cookie`
  /// (``SetCookie/drop``). If there is no `Date`, it is added (RFC 9110, section 6.6.1).
  ///
  /// - Parameters:
  ///   - fields: The fields that were received.
  ///   - time: The time at which the response was received.
  public func fieldsToStore(_ fields: HTTPFields, receivedAt time: HTTPDate) -> HTTPFields {
    let isPrivate = isShared ? ResponseDirectives(fields, rules: self).isPrivate : .absent
    var stored = HTTPFields(
      ConnectionFields.removed(from: fields).filter { field in
        !ConnectionFields.isForProxies(field.name) && !isPrivate.names(field.name)
          && !isForOneUser(field)
      })
    if !stored.contains("Date") { stored.append(HTTPField("Date", time.description)) }
    return stored
  }

  /// Returns the fields of an answer that is made from a stored response (RFC 9111, section 4).
  ///
  /// `Age` contains the current age. After a validation, it is only present if the validating
  /// response had one, because an `Age` implies that the origin was not contacted (RFC 9111,
  /// section 5.1). Fields that `no-cache` names are left out unless the response was validated.
  ///
  /// - Parameters:
  ///   - response: The stored response.
  ///   - now: The current time.
  ///   - validated: Whether the origin has just confirmed the response.
  public func fieldsToServe(
    _ response: StoredResponse, at now: HTTPDate, validated: Bool
  ) -> HTTPFields {
    let noCache = response.facts.directives.noCache
    let hadAge = response.fields.contains("Age")
    var served: [HTTPField] = []
    served.reserveCapacity(response.fields.count + 1)
    for field in response.fields
    where !field.isNamed("Age") && (validated || !noCache.names(field.name)) && !isForOneUser(field)
    {
      served.append(field)
    }
    if !validated || hadAge {
      served.append(HTTPField("Age", String(currentAge(of: response, at: now))))
    }
    return HTTPFields(served)
  }
}
