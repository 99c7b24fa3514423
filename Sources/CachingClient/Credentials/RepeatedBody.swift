import HTTPTransport

/// Holds what to send when the same request has to go again.
struct RepeatedBody {
  let body: RequestBody?
}

extension RequestBody? {
  /// Whether the request has content; not with `Content-Length: 0`.
  var hasContent: Bool {
    switch self {
    case nil, .stream(length: 0, _): false
    case .bytes(let bytes): !bytes.isEmpty
    case .stream: true
    }
  }

  /// Gives the same content from its beginning; nil where it cannot be had again.
  var repeated: RepeatedBody? {
    switch self {
    case nil: return RepeatedBody(body: nil)
    case .bytes: return RepeatedBody(body: self)
    case .stream(let length, let source):
      guard let source = source as? any RepeatableBodySource else { return nil }
      return RepeatedBody(body: .stream(length: length, source.again()))
    }
  }
}
