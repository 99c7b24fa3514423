/// The fields that are meant for the next hop only (RFC 9110, section 7.6.1).
public enum ConnectionFields {
  /// Returns whether a field of this name is never forwarded by a cache or proxy.
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

  /// Returns whether a field of this name is for the authentication at a proxy. Such a field is
  /// never stored (RFC 9111, section 3.1) nor sent to an origin.
  public static func isForProxies(_ name: String) -> Bool {
    switch name.utf8.count {
    case 18: ASCII.equalsIgnoringCase(name, "Proxy-Authenticate")
    case 19: ASCII.equalsIgnoringCase(name, "Proxy-Authorization")
    case 25: ASCII.equalsIgnoringCase(name, "Proxy-Authentication-Info")
    default: false
    }
  }

  /// Returns the fields of a request or response that are forwarded: without those for the next hop
  /// and without those that `Connection` names.
  ///
  /// Fields that frame the message or control its reuse are kept even if `Connection` names them,
  /// which the sender must not do (RFC 9110, section 7.6.1). A message without its `Vary` or
  /// `Cache-Control` could be reused for any user.
  ///
  /// - Complexity: O(*n*) in the size of the fields.
  public static func removed(from fields: HTTPFields) -> HTTPFields {
    // Most messages have no such field, not even `Connection`.
    guard fields.containsName(where: isHopByHop) else { return fields }
    let named = options(of: fields)
    return HTTPFields(
      fields.filter { field in
        !isHopByHop(field.name)
          && (named.isEmpty || !named.contains(ASCII.lowercased(field.name.utf8)))
      })
  }

  /// Returns the names in `Connection` that may be removed, in lower case.
  static func options(of fields: HTTPFields) -> Set<String> {
    var names: Set<String> = []
    for field in fields where field.isNamed("Connection") {
      for member in field.value.split(separator: UInt8(ascii: ",")) {
        let name = ASCII.lowercased(FieldBytes.trimmed(member))
        // The most frequent options are not names of fields to remove.
        guard name != "keep-alive", name != "close" else { continue }
        names.insert(name)
      }
    }
    return names.isEmpty ? names : names.subtracting(neverOptions)
  }

  private static let neverOptions: Set<String> = [
    "age", "cache-control", "content-encoding", "content-length", "content-range", "date",
    "expires", "host", "vary",
  ]
}
