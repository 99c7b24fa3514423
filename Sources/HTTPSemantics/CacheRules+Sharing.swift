// The responses that a cache shares with other machines: fewer than a shared cache may store.
extension CacheRules {
  /// Returns whether a stored response may be given to other machines, or taken from them.
  ///
  /// It must be one that every shared cache may store (RFC 9111, section 3), by `Cache-Control` and
  /// by `CDN-Cache-Control`, and in addition: a whole response with a status that says what a URL
  /// stands for; without `Set-Cookie` and `private`; not meant for one user, whatever its fields say,
  /// or, if its request had another field that may be a credential, unless they allow it as for
  /// `Authorization` (RFC 9111, section 3.5); and selected only by request fields whose values are not
  /// concealed, because another machine conceals them with another key.
  ///
  /// - Parameters:
  ///   - response: The stored response.
  ///   - url: The URL of its request.
  public static func mayShare(_ response: StoredResponse, of url: NormalizedURL) -> Bool {
    guard [200, 203, 301, 308, 404, 410].contains(response.status), !response.isPersonal,
      !response.fields.contains("Set-Cookie"),
      response.selection.fields.allSatisfy({ !isConcealed($0) })
    else { return false }
    var rules = CacheRules(role: .sharedCache)
    guard mayShare(response, of: url, rules) else { return false }
    rules.targetedFields = fieldsForCDNs
    return mayShare(response, of: url, rules)
  }

  private static func mayShare(
    _ response: StoredResponse, of url: NormalizedURL, _ rules: CacheRules
  ) -> Bool {
    let head = HTTPResponseHead(status: response.status, fields: response.fields)
    var request = HTTPRequest(url: url)
    if response.mayBePersonal { request.fields.append(HTTPField("Authorization", "")) }
    return ResponseDirectives(response.fields, rules: rules).isPrivate == .absent
      && rules.whyNotStored(request, head, now: response.responseTime) == nil
  }

  /// Returns whether a value is concealed, or may be the concealed form of another one: 64 hex digits.
  private static func isConcealed(_ field: SelectedField) -> Bool {
    if field.name == "authorization" || field.name == "cookie" { return true }
    guard let value = field.value else { return false }
    return SelectingValue.isConcealed(field.name, length: value.count)
      || value.count == 64 && value.allSatisfy { ASCII.hexValue($0) != nil }
  }
}
