import ContentCoding

/// Removes content codings from responses, for callers who want the content (RFC 9110, section
/// 8.4).
enum ContentDecoding {
  /// Adds the codings that can be decoded to a request without codings of its own.
  static func offer(_ request: HTTPRequest, _ options: FetchOptions) -> HTTPRequest {
    guard mayDecode(request, options), !request.fields.contains("Accept-Encoding") else {
      return request
    }
    var offered = request
    offered.fields.append(HTTPField("Accept-Encoding", "gzip, deflate"))
    return offered
  }

  /// Returns the response without its content coding, if that is wanted and possible.
  ///
  /// - Parameter remove: removes a stored response whose content is damaged.
  static func decode(
    _ response: ClientResponse, asked request: HTTPRequest, _ options: FetchOptions,
    remove: @escaping @Sendable (EntryInfo) -> Void
  ) -> ClientResponse {
    var response = response
    // A response without content may still state how the content would be coded.
    guard mayDecode(request, options), request.method != .head,
      response.head.status != 204, response.head.status != 304,
      let codings = response.head.fields.contentCodings,
      let decoder = ContentDecoder(codings: codings)
    else { return response }
    response.head.fields.markDecoded()
    let url = response.url.string
    let (body, entry) = (response.body, response.entry)
    response.body = body.decoded(decoder, url: url) {
      // One from the network is stored with its last bytes.
      if case .stored(let info) = body.storing { remove(info) } else if let entry { remove(entry) }
    }
    return response
  }

  /// Returns whether a body may be decoded: not if the request names codings, and not a part of
  /// coded content. Some servers code content even if the request asks for none.
  private static func mayDecode(_ request: HTTPRequest, _ options: FetchOptions) -> Bool {
    let accepted = request.fields.combinedValue(of: "Accept-Encoding")
    return options.decodesContent && !request.fields.contains("Range")
      && (accepted.map { $0.elementsEqual("identity".utf8) } ?? true)
  }
}
