package import CacheFormat
package import HTTPSemantics

/// Says what is to be done with a request.
package enum Decision: Sendable {
  /// Answer from the store.
  case serve(Serving)
  /// Ask the origin.
  case forward(Forwarding)
  /// Give no answer: the network must not be asked, and the store has none, for this reason.
  case refuse(ForwardReason)
}

/// Holds an answer from the store: a head, and the slices of stored bodies that belong to it.
package struct Serving: Sendable {
  /// Gives the stored response.
  package let variant: StoredVariant
  /// Gives the head to send: `Age` is set, fields of a connection are gone.
  package internal(set) var head: HTTPResponseHead
  /// Gives the slices of the content in their order; none for an answer without content.
  package let slices: [BodySlice]
  /// Counts the seconds for which the response stays fresh; negative once it is stale.
  package let ttl: Int64
  /// Gives the request with which to validate it in the background (RFC 5861, section 3).
  package var revalidation: Forwarding? = nil
  /// Tells whether others may be answered with it, too: not, where the origin's 304 was for one
  /// caller.
  var isForAll = true
}

/// Holds a part of a stored body.
package struct BodySlice: Sendable {
  /// Gives the body.
  package let body: StoredBody
  /// Gives the offsets of the bytes that are meant.
  package let range: Range<UInt64>
}

/// Holds what is needed to ask the origin, and to judge its answer.
package struct Forwarding: Sendable {
  /// Gives the caller's request.
  package let original: HTTPRequest
  /// Gives the request to send: the caller's, perhaps with conditions.
  package var request: HTTPRequest
  /// Tells why the store does not answer.
  package let reason: ForwardReason
  /// Gives the key.
  package let key: ByteString
  /// The stored responses that a 304 can be about.
  var validating: [StoredVariant]
  /// What answers the request once it is confirmed.
  let selected: Representation?
  /// The stored beginning whose rest the request asks for (RFC 9111, section 3.4).
  var completing: StoredVariant? = nil
  /// What the rules may let answer it should the origin fail; a caller who asks for a validation
  /// takes nothing else.
  var fallback: Representation? { reason == .policy(.revalidate) ? nil : selected }
  /// Tells whether others that ask for the same may wait for this answer.
  package let isShareable: Bool
  /// What of the request is known to select its answer: requests that differ here do not wait for
  /// one another.
  package let selection: Selection
}

/// Says what is to be done with the origin's answer.
package enum Receipt: Sendable {
  /// Hand it on, and store it or not.
  case pass(HTTPResponseHead, Storing)
  /// Serve what is stored: the origin has confirmed it.
  case validated(Serving)
  /// Serve what is stored although it is stale: the origin has failed with this status.
  case stale(Serving, status: Int)
  /// Ask again with this request: the 304 is about nothing that is stored.
  case again(Forwarding)
}

/// Says whether a response is to be stored.
package enum Storing: Sendable {
  /// It is not, for this reason.
  case no(NotStoredReason)
  /// It is, when its body has come to its end.
  case yes(StoringPlan)
}
