package import HTTPSemantics

extension HTTPFields {
  /// Fields with which no cache uses the response for a request with other cookies.
  ///
  /// A cache above does not see the cookies that a transport adds, so it could not distinguish the
  /// variants of `Vary: Cookie`. `Vary: *` prevents the response from being stored.
  package var concealingCookies: HTTPFields {
    guard ListSyntax.members(of: "Vary", in: self).contains(where: { $0.lowercased() == "cookie" })
    else { return self }
    var fields = self
    fields.replace(with: HTTPField("Vary", "*"))
    return fields
  }
}
