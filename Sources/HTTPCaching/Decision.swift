package import CacheFormat
package import HTTPSemantics

/// The way to handle a request.
package enum Decision: Sendable {
  case serve(Serving)
  case forward(Forwarding)
  /// Refuse the request, for this reason: the network must not be used, and the store has no
  /// response.
  case refuse(ForwardReason)
}

/// A response from the store: a head, and slices of stored bodies.
package struct Serving: Sendable {
  package let variant: StoredVariant
  /// The head to send: with `Age`, and without the fields of a connection.
  package internal(set) var head: HTTPResponseHead
  /// The slices of the content in their order; empty for a response without content.
  package let slices: [BodySlice]
  /// The seconds for which the response stays fresh; negative if it is stale.
  package let ttl: Int64
  /// The request for validating the response in the background (RFC 5861, section 3).
  package var revalidation: Forwarding? = nil
  package var isHistory: Bool { variant.isHistory }
  /// Whether other requests may be answered with the response, too; false if the origin's 304 was
  /// valid for one caller only.
  package var isForAll = true
}

package struct BodySlice: Sendable {
  package let body: StoredBody
  /// The offsets of the bytes in the body.
  package let range: Range<UInt64>
}

/// The data for a request to the origin and for the evaluation of its response.
package struct Forwarding: Sendable {
  package let original: HTTPRequest
  /// The request to send: the caller's, possibly with conditions.
  package var request: HTTPRequest
  /// The reason why the store does not serve the request.
  package let reason: ForwardReason
  package let key: ByteString
  /// The stored responses that a 304 can confirm.
  var validating: [StoredVariant]
  /// The stored bytes that answer the request once they are confirmed.
  let selected: Representation?
  /// What other machines had (`detail` of Cache-Status); `nil` if they were not asked.
  package var remark: String? = nil
  /// The responses of the history, for the case that the origin cannot be reached.
  var history: [StoredVariant] = []
  /// The caller's lifetime for stored responses, in seconds; `nil` if the fields decide.
  package var lifetime: Int64? = nil
  /// The stored beginning of the representation, if the request is for the rest (RFC 9111, section
  /// 3.4).
  var completing: StoredVariant? = nil
  /// Whether the request is for the rest of a stored beginning.
  package var isForRest: Bool { completing != nil }
  /// The response to use, if the rules permit it, when the origin fails; `nil` if the caller
  /// requires a validation.
  var fallback: Representation? { reason == .policy(.revalidate) ? nil : selected }
  /// Whether other identical requests may wait for this response.
  package let isShareable: Bool
  /// The request fields that are known to select the response, with their values. Requests with
  /// other values do not wait for one another.
  package let selection: Selection
}

/// The way to handle the origin's response.
package enum Receipt: Sendable {
  /// Pass it to the caller, and possibly store it.
  case pass(HTTPResponseHead, Storing)
  /// Serve the stored response: the origin has confirmed it.
  case validated(Serving)
  /// Serve the stored response although it is stale: the origin failed with this status.
  case stale(Serving, status: Int)
  /// Send this request instead: the 304 does not refer to a stored response.
  case again(Forwarding)
}

package enum Storing: Sendable {
  /// It is not stored, for this reason.
  case no(NotStoredReason)
  /// It is stored once its body is complete.
  case yes(StoringPlan)
  /// It is not stored for reuse, for this reason, but in the history once its body is complete.
  case inHistory(StoringPlan, NotStoredReason)
}
