import HTTPSemantics

/// The data that is known once the head of the final response has been received.
struct TransportHead: Sendable {
  let head: HTTPResponseHead
  let version: String
}
