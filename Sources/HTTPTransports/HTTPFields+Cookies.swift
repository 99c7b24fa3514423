package import HTTPSemantics

extension HTTPFields {
  /// Fields with which no cache uses the response for a request with other cookies.
  ///
  /// A cache above does not see the cookies that a transport adds, so it could not distinguish the
  /// variants of `Vary: Cookie`. `Vary: *` prevents the response from being stored.
  package var concealingCookies: HTTPFields {
    let isSelected = all(named: "Vary").contains { field in
      field.text.lowercased().split(separator: ",").contains { name in
        name.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "cookie"
      }
    }
    guard isSelected else { return self }
    var fields = self
    fields.replace(with: HTTPField("Vary", "*"))
    return fields
  }
}
