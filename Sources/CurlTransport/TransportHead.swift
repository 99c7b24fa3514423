import HTTPSemantics

/// Holds what is known once the head of the answer that counts has come.
struct TransportHead: Sendable {
  let head: HTTPResponseHead
  let url: NormalizedURL
  let version: String
  let isDecoded: Bool
}
