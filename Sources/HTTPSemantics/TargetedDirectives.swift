extension ResponseDirectives {
  /// Reads the first of the targeted fields that is present and valid (RFC 9213, section 2.2).
  ///
  /// Returns `nil` if there is none; then `Cache-Control` applies.
  init?(targetedIn fields: HTTPFields, _ names: [String]) {
    for name in names {
      guard let value = fields.combinedValue(of: name),
        let dictionary = StructuredDictionary(value), !dictionary.members.isEmpty,
        let directives = ResponseDirectives(dictionary)
      else { continue }
      self = directives
      return
    }
    return nil
  }

  /// Reads a dictionary whose members are directives (RFC 9213, section 2.1).
  ///
  /// Returns `nil` if a known directive has a value of the wrong type. Then the whole field is
  /// invalid and ignored.
  private init?(_ dictionary: StructuredDictionary) {
    self.init()
    isTargeted = true
    for member in dictionary.members {
      guard let name = PackedName(member.key.utf8), let directive = CacheDirective(name) else {
        continue
      }
      guard add(directive, member.value) else { return nil }
    }
  }

  private mutating func add(
    _ directive: CacheDirective, _ value: StructuredDictionary.Value
  ) -> Bool {
    switch (directive, value) {
    case (.maxAge, .integer(let seconds)): maxAge = DeltaSeconds.clamped(seconds)
    case (.sMaxAge, .integer(let seconds)): sMaxAge = DeltaSeconds.clamped(seconds)
    case (.staleWhileRevalidate, .integer(let seconds)):
      staleWhileRevalidate = DeltaSeconds.clamped(seconds)
    case (.staleIfError, .integer(let seconds)): staleIfError = DeltaSeconds.clamped(seconds)
    case (.maxAge, _), (.sMaxAge, _), (.staleWhileRevalidate, _), (.staleIfError, _): return false
    case (_, .boolean(false)): break
    case (.noCache, _): noCache.add(Self.fieldList(value))
    case (.isPrivate, _): isPrivate.add(Self.fieldList(value))
    default: add(directive, isBare: value == .boolean(true))
    }
    return true
  }

  private static func fieldList(_ value: StructuredDictionary.Value) -> FieldList {
    switch value {
    case .string(let text), .token(let text):
      let bytes = Array(text.utf8)
      return bytes.withSpan { FieldList(argument: $0, in: 0..<$0.count) }
    default: return .all
    }
  }
}
