/// Says in words how an answer is counted.
enum OutcomeText {
  /// The word, which is the name of its colour in the style, too.
  static func name(of outcome: AnswerOutcome) -> String { "\(outcome)" }

  /// A dot in the colour of the outcome, with its word.
  static func mark(_ outcome: AnswerOutcome) -> HTML {
    "<span class=\"mark \(name(of: outcome))\">\(name(of: outcome))</span>"
  }

  /// What an outcome means, for those who do not know the terms.
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

  /// Why an answer was what it was; the source where the record has no reason. Status and URL, with
  /// which the reasons of errors begin, stand beside it anyway.
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
    case .proxy: return "from the proxy"
    }
  }

  /// How long a hit stays fresh, as its Cache-Status has it.
  private static func freshness(of answer: RecentAnswer) -> String {
    guard answer.outcome == .hit,
      let parameter = answer.record.cacheStatus.split(separator: "; ttl=").dropFirst().last,
      let seconds = Int64(parameter.prefix { $0.isASCII && $0.isNumber })
    else { return "" }
    return ", fresh for \(StatusText.duration(seconds: seconds))"
  }
}
