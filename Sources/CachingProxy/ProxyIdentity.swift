import HTTPSemantics

/// The name of this proxy in `Via` (RFC 9110, section 7.6.3), by which it identifies its own
/// requests.
struct ProxyIdentity: Sendable, Hashable {
  /// The name. It has a random part, because several proxies may be in a row.
  let pseudonym: String

  /// Creates a unique name.
  init() {
    let number = UInt64.random(in: .min ... .max)
    pseudonym = "offlinecache-" + String(number, radix: 36)
  }

  init(pseudonym: String) { self.pseudonym = pseudonym }

  /// The value of a `Via` field for a message that was received over HTTP/1.1.
  var via: String { "1.1 " + pseudonym }

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
    var fields = ConnectionFields.removed(from: head.fields)
    for name in ["Host", "Content-Length", "Expect", "Trailer"] { fields.removeAll(named: name) }
    for field in fields where ConnectionFields.isForProxies(field.name) {
      fields.removeAll(named: field.name)
    }
    fields.append(HTTPField("Via", head.isHTTP11 ? via : "1.0 " + pseudonym))
    return HTTPRequest(method: head.method, url: url, fields: fields)
  }
}
