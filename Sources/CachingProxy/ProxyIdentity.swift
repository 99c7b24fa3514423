import HTTPSemantics

/// The name of this proxy in `Via` (RFC 9110, section 7.6.3), by which it identifies its own
/// requests.
struct ProxyIdentity: Sendable, Hashable {
  /// The name. It has a random part, because several proxies may be in a row.
  let pseudonym: String
  /// The value of a `Via` field for a message that was received over HTTP/1.1.
  let via: String

  init() {
    let number = UInt64.random(in: .min ... .max)
    self.init(pseudonym: "offlinecache-" + String(number, radix: 36))
  }

  init(pseudonym: String) {
    self.pseudonym = pseudonym
    via = "1.1 " + pseudonym
  }

  /// Returns whether a message has passed this proxy before.
  func isLoop(_ fields: HTTPFields) -> Bool {
    fields.contains { field in
      field.isNamed("Via")
        && field.value.split(separator: UInt8(ascii: ",")).contains { member in
          // The second word of each member is the name.
          let words = member.split { $0 == 0x20 || $0 == 0x09 }
          return words.count > 1 && words[1].elementsEqual(pseudonym.utf8)
        }
    }
  }

  /// Returns the request for the next server: without fields for this hop, and without fields that
  /// the transport itself writes.
  func forwarded(_ head: RequestHead, to url: NormalizedURL) -> HTTPRequest {
    var fields = ConnectionFields.removed(from: head.fields).filter { field in
      !Self.isWrittenAnew(field) && !ConnectionFields.isForProxies(field.name)
    }
    fields.append(HTTPField("Via", head.isHTTP11 ? via : "1.0 " + pseudonym))
    return HTTPRequest(method: head.method, url: url, fields: HTTPFields(fields))
  }

  /// Returns whether the transport writes a field of its own with this name.
  private static func isWrittenAnew(_ field: HTTPField) -> Bool {
    switch field.name.utf8.count {
    case 4: field.isNamed("Host")
    case 6: field.isNamed("Expect")
    case 7: field.isNamed("Trailer")
    case 14: field.isNamed("Content-Length")
    default: false
    }
  }
}
