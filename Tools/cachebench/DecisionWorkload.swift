import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics

extension Bench {
  /// Decides on requests that hit: the rules alone on fields that are already in memory, and the
  /// whole way from the request to the answer's head, body looked up in the memory tier.
  func decision() throws {
    guard configuration.systems.contains(.store) else { return }
    let sample = try DecisionSample(
      path: try workspace.makeDirectory("decision"), bodyBytes: configuration.bodyBytes)
    defer { sample.cache.store.close() }
    let rows = [
      measure("rules", sample.applyRules), measure("decide", sample.decide),
    ].compactMap { $0 }
    report.print("decision: a hit with \(sample.fields.count) response fields and Vary", rows)
  }

  /// Measures in batches: one step is shorter than reading the clock.
  private func measure(_ work: String, _ step: () -> Bool) -> Row? {
    var series = Series()
    var hits = 0
    for _ in 0..<200 {
      let start = MonotonicClock.now()
      for _ in 0..<1000 where step() { hits += 1 }
      let each = (MonotonicClock.now() - start) / 1000
      series.add(slice: [each], wall: each)
    }
    guard hits == 200_000 else { return nil }
    return series.summary().map { summary in
      Row(work: work, system: .store, entries: 1, body: configuration.bodyBytes, summary: summary)
    }
  }
}

/// A typical response in a store, and a request that it answers.
struct DecisionSample {
  let cache: ResponseCache
  let request: HTTPRequest
  let now: Timestamp
  let fields: HTTPFields
  let selection: Selection

  init(path: String, bodyBytes: Int) throws {
    let store = try Store(at: path)
    cache = ResponseCache(store: store, rules: CacheRules(role: .sharedCache), hotBytes: 1 << 20)
    now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
    request = HTTPRequest(
      url: try NormalizedURL("http://static.example.org/assets/app-2f6c1e.js?v=12"),
      fields: [
        HTTPField("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"),
        HTTPField("Accept", "*/*"), HTTPField("Accept-Language", "en-GB,en;q=0.5"),
        HTTPField("Accept-Encoding", "gzip, deflate, br"),
        HTTPField("Referer", "http://www.example.org/"),
      ])
    fields = [
      HTTPField("Server", "nginx"), HTTPField("Date", "Fri, 15 Jan 2027 07:59:00 GMT"),
      HTTPField("Content-Type", "application/javascript; charset=utf-8"),
      HTTPField("Content-Length", String(bodyBytes)),
      HTTPField("Last-Modified", "Mon, 04 Jan 2027 10:11:12 GMT"),
      HTTPField("ETag", "\"65a1b2c3-1000\""), HTTPField("Vary", "Accept-Encoding"),
      HTTPField("Expires", "Sat, 15 Jan 2028 07:59:00 GMT"),
      HTTPField("Cache-Control", "public, max-age=31536000, stale-while-revalidate=60"),
      HTTPField("Access-Control-Allow-Origin", "*"),
      HTTPField("X-Content-Type-Options", "nosniff"), HTTPField("Age", "12"),
    ]
    selection =
      Selection(varyOf: fields, request: request.fields, conceal: { $0 }) ?? Selection.none
    guard case .forward(let forwarding) = cache.decide(request, now: now),
      case .pass(_, .yes(let plan)) = cache.receive(
        HTTPResponseHead(status: 200, fields: fields), for: forwarding,
        times: ResponseTimes(request: now, response: now))
    else { throw BenchmarkError("decision: the sample is not stored") }
    _ = try plan.store([UInt8](repeating: 7, count: bodyBytes), in: store)
  }

  /// Parses the fields, and decides.
  func applyRules() -> Bool {
    let response = StoredResponse(
      status: 200, fields: fields, requestTime: now.date, responseTime: now.date,
      selection: selection, rules: cache.rules)
    guard response.selection.matches(request.fields, conceal: { $0 }),
      case .fresh = cache.rules.reuse(
        of: response, for: RequestDirectives(request.fields), at: now.date)
    else { return false }
    return true
  }

  /// Goes the whole way.
  func decide() -> Bool {
    if case .serve = cache.decide(request, now: now) { true } else { false }
  }
}
