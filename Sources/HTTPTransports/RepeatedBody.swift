/// The body to send when the same request is sent again.
package struct RepeatedBody {
  package let body: RequestBody?
}

extension RequestBody? {
  /// Whether the request has content; false with `Content-Length: 0`.
  package var hasContent: Bool {
    switch self {
    case nil, .stream(length: 0, _): false
    case .bytes(let bytes): !bytes.isEmpty
    case .stream: true
    }
  }

  /// The same content from its beginning, or `nil` if it cannot be read again.
  package var repeated: RepeatedBody? {
    switch self {
    case nil: return RepeatedBody(body: nil)
    case .bytes: return RepeatedBody(body: self)
    case .stream(let length, let source):
      guard let source = source as? any RepeatableBodySource else { return nil }
      return RepeatedBody(body: .stream(length: length, source.again()))
    }
  }
}
