import HTTPSemantics

/// Decrements the number of times that `OPTIONS` and `TRACE` may be forwarded (RFC 9110, section
/// 7.6.2).
enum MaxForwards {
  /// The result for the request.
  enum Outcome {
    case forward(RequestHead)
    case answer(ProxyAnswer)
  }

  /// Checks the field. It has no meaning for other methods.
  static func apply(to head: RequestHead) -> Outcome {
    let method = head.method.rawValue
    guard method == "OPTIONS" || method == "TRACE",
      let field = head.fields.first(named: "Max-Forwards"),
      let count = UInt32(field.text)
    else { return .forward(head) }
    guard count > 0 else {
      // Repeating the request, as the last recipient of a TRACE may do, would reveal what the
      // servers in between have added to it.
      return .answer(method == "OPTIONS" ? OwnAnswers.capabilities() : OwnAnswers.noTrace())
    }
    var head = head
    head.fields.replace(with: HTTPField("Max-Forwards", String(count - 1)))
    return .forward(head)
  }
}
