/// Knows the fields that are meant for the next hop alone and end there (RFC 9110, section 7.6.1).
public enum ConnectionFields {
  /// Tells whether a field of this name never passes a cache or proxy.
  public static func isHopByHop(_ name: String) -> Bool {
    switch name.utf8.count {
    case 2: ASCII.equalsIgnoringCase(name, "TE")
    case 7: ASCII.equalsIgnoringCase(name, "Upgrade")
    case 10:
      ASCII.equalsIgnoringCase(name, "Connection") || ASCII.equalsIgnoringCase(name, "Keep-Alive")
    case 16: ASCII.equalsIgnoringCase(name, "Proxy-Connection")
    case 17: ASCII.equalsIgnoringCase(name, "Transfer-Encoding")
    default: false
    }
  }

  /// Tells whether a field of this name is for a proxy that asks for credentials, and so is never
  /// stored (RFC 9111, section 3.1) nor sent on to an origin.
  public static func isForProxies(_ name: String) -> Bool {
    switch name.utf8.count {
    case 18: ASCII.equalsIgnoringCase(name, "Proxy-Authenticate")
    case 19: ASCII.equalsIgnoringCase(name, "Proxy-Authorization")
    case 25: ASCII.equalsIgnoringCase(name, "Proxy-Authentication-Info")
    default: false
    }
  }

  /// Returns the fields of a request or response that are passed on: without those for the next
  /// hop and without those that `Connection` names.
  ///
  /// Fields that frame the message or say who may reuse it stay even if `Connection` names them. A
  /// sender must not do that (RFC 9110, section 7.6.1), and a message that lost its `Vary` or
  /// `Cache-Control` on the way would be taken for one that may be given to anybody.
  ///
  /// - Complexity: O(*n*) in the size of the fields.
  public static func removed(from fields: HTTPFields) -> HTTPFields {
    // Nearly all messages have none of them, `Connection` included.
    guard fields.containsName(where: isHopByHop) else { return fields }
    let named = options(of: fields)
    return HTTPFields(
      fields.filter { field in
        !isHopByHop(field.name) && (named.isEmpty || !named.contains(lowercased(field.name)))
      })
  }

  /// Returns the names that `Connection` lists and that may be removed, in lower case.
  static func options(of fields: HTTPFields) -> Set<String> {
    var names: Set<String> = []
    for field in fields where field.isNamed("Connection") {
      for member in field.value.split(separator: UInt8(ascii: ",")) {
        let name = lowercased(String(decoding: FieldBytes.trimmed(member), as: UTF8.self))
        // What most messages say names no field that would have to be looked for.
        guard name != "keep-alive", name != "close", HTTPField.isToken(name) else { continue }
        names.insert(name)
      }
    }
    return names.isEmpty ? names : names.subtracting(neverOptions)
  }

  static func lowercased(_ name: String) -> String {
    String(decoding: name.utf8.map(ASCII.lowercased), as: UTF8.self)
  }

  private static let neverOptions: Set<String> = [
    "age", "cache-control", "content-encoding", "content-length", "content-range", "date",
    "expires", "host", "vary",
  ]
}
