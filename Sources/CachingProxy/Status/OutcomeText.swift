internal import HTTPSemantics

enum OutcomeText {
  /// Returns the word for an outcome, which is also the name of its colour in the style.
  static func name(of outcome: AnswerOutcome) -> String { "\(outcome)" }

  /// Returns a dot in the colour of the outcome, with its word.
  static func mark(_ outcome: AnswerOutcome) -> HTML {
    "<span class=\"mark \(name(of: outcome))\">\(name(of: outcome))</span>"
  }

  /// Returns the meaning of an outcome, for readers who do not know the terms.
  static func meaning(of outcome: AnswerOutcome) -> String {
    switch outcome {
    case .hit: "from the store, without asking the origin"
    case .stale: "from the store past its freshness, which was allowed"
    case .revalidated: "from the store, after the origin confirmed it"
    case .miss: "from the origin"
    case .bypass: "from the origin; no cache may answer such a request"
    case .error: "from the proxy itself, with the reason"
    }
  }

  /// Returns the reason of an answer, or its source if the record has no reason. Status and URL at
  /// the beginning of error reasons are removed, because the page shows them beside it.
  static func reason(of answer: RecentAnswer) -> String {
    var reason = answer.record.reason[...]
    for beginning in ["\(answer.record.status): ", "\(answer.record.url): "]
    where reason.hasPrefix(beginning) {
      reason = reason.dropFirst(beginning.count)
    }
    guard reason.isEmpty else { return String(reason) }
    switch answer.record.source {
    case .memory: return "from memory\(freshness(of: answer))"
    case .disk: return "from disk\(freshness(of: answer))"
    case .substitute: return "from a substitute"
    case .network: return "from the origin"
    case .tunnel: return "through a tunnel"
    case .proxy: return "from the proxy"
    }
  }

  /// Returns the time that a hit stays fresh, from its Cache-Status.
  private static func freshness(of answer: RecentAnswer) -> String {
    guard answer.outcome == .hit, let seconds = answer.record.cacheStatus?.ttl else { return "" }
    return ", fresh for \(StatusText.duration(seconds: seconds))"
  }
}
