package import HTTPSemantics

/// The data that is known once the head of the final response has been received.
package struct TransportHead: Sendable {
  package let head: HTTPResponseHead
  package let version: String

  package init(head: HTTPResponseHead, version: String) {
    self.head = head
    self.version = version
  }
}
