import HTTPTransport

/// Holds what to send when the same request has to go again.
struct RepeatedBody {
  let body: RequestBody?
}

extension RequestBody? {
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
