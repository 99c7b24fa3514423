import HTTPSemantics

/// Holds what is known once the head of the final answer has come.
struct TransportHead: Sendable {
  let head: HTTPResponseHead
  let version: String
}
