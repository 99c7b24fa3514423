import HTTPSemantics

/// Counts down how often `OPTIONS` and `TRACE` may go on (RFC 9110, section 7.6.2).
enum MaxForwards {
  /// Says what becomes of the request.
  enum Outcome {
    case forward(RequestHead)
    case answer(ProxyAnswer)
  }

  /// Looks at the field; other methods do not know it.
  static func apply(to head: RequestHead) -> Outcome {
    let method = head.method.rawValue
    guard method == "OPTIONS" || method == "TRACE",
      let field = head.fields.first(named: "Max-Forwards"),
      let count = UInt32(field.text)
    else { return .forward(head) }
    guard count > 0 else {
      // To repeat the request, as the last receiver of a TRACE may, would show what the servers
      // in between have added to it.
      return .answer(method == "OPTIONS" ? OwnAnswers.capabilities() : OwnAnswers.noTrace())
    }
    var head = head
    head.fields.replace(with: HTTPField("Max-Forwards", String(count - 1)))
    return .forward(head)
  }
}
