import Foundation
import HTTPSemantics
import HTTPTransports

/// The head of a response of URLSession, which may have decoded the body.
///
/// The head is made to agree with the decoded body: a weak tag, no length. The tag of a later 304 is
/// made weak, too, so that it matches what is stored.
struct SessionHead {
  /// The fields, which agree with the body as it is returned.
  let fields: HTTPFields
  /// The length of the body, if the head states it.
  let bodyBytes: UInt64?

  /// Reads a head.
  ///
  /// - Throws: `protocolViolation` for a part in a coding: it cannot be decoded.
  init(_ response: HTTPURLResponse, to request: HTTPRequest) throws(TransportError) {
    var fields = Self.fields(of: response)
    let codings = (fields.contentCodings ?? []).map { $0.lowercased() }
    let isDecoded = !codings.isEmpty && codings.allSatisfy(SessionRequest.decodedCodings.contains)
    if isDecoded, response.statusCode == 206 {
      throw TransportError(
        .protocolViolation, url: request.url.string,
        detail: "the server has sent a part in a content coding, which was not requested")
    }
    if isDecoded {
      fields.markDecoded()
    } else if response.statusCode == 304 {
      Self.weakenTag(&fields, toMatch: request.fields)
    }
    let hasBody = request.method != .head && ![204, 304].contains(response.statusCode)
    bodyBytes = hasBody && !isDecoded ? fields.contentLength : nil
    self.fields = fields
  }

  /// The fields of a response, in the order of their names.
  static func fields(of response: HTTPURLResponse) -> HTTPFields {
    let all = response.allHeaderFields.compactMap { name, value -> HTTPField? in
      guard let name = name as? String, let value = value as? String else { return nil }
      return HTTPField(name, value)
    }
    return HTTPFields(all.sorted { $0.name < $1.name })
  }

  /// Makes the tag of a 304 weak, as it was in the response that was returned before.
  private static func weakenTag(_ fields: inout HTTPFields, toMatch request: HTTPFields) {
    guard let tag = fields.first(named: "ETag")?.text, tag.hasPrefix("\"") else { return }
    let asked = ListSyntax.members(of: "If-None-Match", in: request)
    if asked.contains("W/" + tag), !asked.contains(tag) {
      fields.replace(with: HTTPField("ETag", "W/" + tag))
    }
  }
}
