import HTTPSemantics

/// Names this proxy in `Via` (RFC 9110, section 7.6.3), so that it knows its own requests again.
struct ProxyIdentity: Sendable, Hashable {
  /// The name; with a random part, for two proxies may stand in a row.
  let pseudonym: String

  /// Makes a name of its own for every proxy.
  init() {
    let number = UInt64.random(in: .min ... .max)
    pseudonym = "offlinecache-" + String(number, radix: 36)
  }

  init(pseudonym: String) { self.pseudonym = pseudonym }

  /// The value of a `Via` field for a message that came in HTTP/1.1.
  var via: String { "1.1 " + pseudonym }

  /// Tells whether a message has been here before.
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

  /// Returns the request as it goes on to the next server: without what was meant for this hop,
  /// and without what the transport writes itself.
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
