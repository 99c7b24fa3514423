import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import TestSupport

// Steps of somebody who browses with a history, online and offline. The oracle keeps a page and the
// history of it as two entries; the name of the second is the key with `#seen` at its end.
extension Life {
  /// An answer of the server, and when it is received.
  struct Visit {
    var head: HTTPResponseHead
    var time: Timestamp
  }

  /// The seconds for which an answer is fresh, unless it has no lifetime.
  private static let lifetime: Int64 = 60
  private static let seen: ByteString = "#seen"

  private var cache: ResponseCache {
    ResponseCache(
      store: store, rules: .withHistory,
      fingerprintKey: FingerprintKey(bytes: Array(repeating: 7, count: FingerprintKey.byteCount)))
  }

  func name(of info: EntryInfo) -> ByteString {
    info.variant == 0 ? info.key : history(of: info.key)
  }

  func history(of key: ByteString) -> ByteString {
    ByteString(bytes: key.bytes + Self.seen.bytes)
  }

  /// Returns the key of the entry with a name, and whether it is history.
  func place(of name: ByteString) -> (key: ByteString, isHistory: Bool) {
    guard name.bytes.suffix(Self.seen.bytes.count).elementsEqual(Self.seen.bytes) else {
      return (name, false)
    }
    return (ByteString(bytes: Array(name.bytes.dropLast(Self.seen.bytes.count))), true)
  }

  private func url(of key: ByteString) -> String { String("\(key)".dropFirst("GET ".count)) }

  private func request(_ key: ByteString) -> HTTPRequest {
    guard let url = try? NormalizedURL(url(of: key)) else { preconditionFailure("\(key)") }
    return HTTPRequest(url: url)
  }

  /// Chooses a page, and what the server answers: a page with or without `no-cache`, a temporary
  /// redirect, or that it is gone.
  func visit() -> Plan {
    let key = anyKey()
    let time = Timestamp(nanoseconds: clock.now())
    let kind = random.below(10)
    let lifetime = HTTPField("Cache-Control", "max-age=\(Self.lifetime)")
    var head = HTTPResponseHead(status: 200, fields: [HTTPField("Date", time.date.description)])
    switch kind {
    case 0, 1:
      head.status = random.below(2) == 0 ? 404 : 410
      head.fields.append(lifetime)
    case 2, 3:
      head.status = [302, 303, 307][random.below(3)]
      head.fields.append(HTTPField("Location", "/login"))
    case 4, 5: head.fields.append(HTTPField("Cache-Control", "no-cache"))
    default: head.fields.append(lifetime)
    }
    let hasLifetime = kind < 2 || kind > 5
    let isSeen = kind == 2 || kind == 3
    let second = time.date.seconds + Self.lifetime
    var metadata = EntryMetadata(
      status: head.status,
      fields: head.fields.map { Field(ByteString($0.name), ByteString(bytes: $0.value)) },
      userInfo: [
        Field("http-url", ByteString(url(of: key))),
        Field("http-request-time", ByteString("\(time.nanoseconds)")),
        Field("http-response-time", ByteString("\(time.nanoseconds)")),
        Field("http-body-date", ByteString("\(time.date.seconds)")),
      ],
      expires: hasLifetime ? Timestamp(nanoseconds: second * 1_000_000_000) : nil)
    var plan = Plan(
      key: isSeen ? history(of: key) : key, stores: true, visit: Visit(head: head, time: time))
    if isSeen { Self.mark(&metadata) }
    if kind < 2, let page = oracle.entries[key], page.metadata.status == 200 {
      var kept = page
      Self.mark(&kept.metadata)
      kept.isPinned = oracle.entries[history(of: key)]?.isPinned ?? false
      plan.kept = (history(of: key), sized(kept, key))
      writeFiles()
    }
    var entry = Expected(
      body: BodySeed(seed: random.next(), count: random.below(use.bodyBytes) + 9),
      metadata: metadata)
    entry.isPinned = oracle.entries[plan.key]?.isPinned ?? false
    plan.entry = sized(entry, key)
    return plan
  }

  /// The field of a response that has to be validated.
  private static let noCache = Field("Cache-Control", "no-cache")

  private static func mark(_ metadata: inout EntryMetadata) {
    metadata.userInfo.append(Field("http-history", "true"))
    metadata.tags.append("spare")
    metadata.expires = nil
  }

  /// Lets the cache judge an answer, and stores it as the cache says.
  func carryOut(_ visit: Visit, of name: ByteString, _ body: [UInt8]) throws(StoreError) {
    let key = place(of: name).key
    guard
      case .forward(let forwarding) = cache.decide(request(key), policy: .reload, now: visit.time),
      case .pass(_, let storing) = cache.receive(
        visit.head, for: forwarding,
        times: ResponseTimes(request: visit.time, response: visit.time))
    else { return complain("\(key) is not forwarded") }
    // What the background evicts after the history was kept depends on what is stored by then.
    store.waitUntilIdle()
    switch storing {
    case .no(let reason): complain("\(key) is not stored: \(reason)")
    case .yes(let plan): _ = try plan.store(body, in: store)
    case .inHistory(let plan, _):
      if !place(of: name).isHistory { complain("\(key) is stored as history") }
      _ = try plan.store(body, in: store)
    }
  }

  /// Repeats in the oracle what a 404 keeps.
  func keep(_ plan: Plan, in oracle: inout Oracle) -> Int {
    guard let (name, kept) = plan.kept else { return 0 }
    oracle.touch(plan.key)
    let old = oracle.entries[name]
    oracle.entries[name] = kept
    oracle.touch(name)
    if let gone = oracle.makeRoom(for: name) { return gone.count }
    oracle.entries[name] = old
    return 0
  }

  func browseOffline() {
    let key = anyKey()
    let (page, seen) = (oracle.entries[key], oracle.entries[history(of: key)])
    let isSeen = seen != nil && page?.metadata.status != 200
    let decision = cache.decide(
      request(key), policy: .offline, now: Timestamp(nanoseconds: clock.now()))
    guard case .serve(let serving) = decision else {
      if page != nil || seen != nil { complain("\(key) is not there offline") }
      return
    }
    check(serving, key, isSeen: isSeen)
  }

  /// Requests a page with a network, from a server that cannot be reached if the request has to be
  /// forwarded.
  func browseOnline() {
    let key = anyKey()
    let now = Timestamp(nanoseconds: clock.now())
    let (page, seen) = (oracle.entries[key], oracle.entries[history(of: key)])
    let isFresh = page?.metadata.expires.map { now.date.seconds < $0.date.seconds } ?? false
    let decision = cache.decide(request(key), now: now)
    // The only response of a key is read before it is judged.
    if page != nil { oracle.touch(key) } else { oracle.touch(history(of: key)) }
    switch decision {
    case .serve(let serving):
      if !isFresh { complain("\(key) is served, and is not fresh") }
      check(serving, key, isSeen: false)
    case .forward(let forwarding):
      if isFresh { complain("\(key) is fresh, and is forwarded") }
      let isNoCache = page?.metadata.expires == nil
      // What has to be validated is no answer then, and hides no other.
      let isRecalled = seen?.metadata.fields.contains(Self.noCache) == false
      // The history is older than a good page, also than one that has to be validated.
      let isSeen = isRecalled && page?.metadata.status != 200
      guard let serving = cache.fallback(for: forwarding, now: now) else {
        if isSeen || page != nil && !isNoCache { complain("\(key) is refused") }
        return
      }
      check(serving, key, isSeen: isSeen)
    case .refuse: complain("\(key) is refused")
    }
  }

  private func check(_ serving: Serving, _ key: ByteString, isSeen: Bool) {
    let name = isSeen ? history(of: key) : key
    if serving.isHistory != isSeen { return complain("\(key) is answered from the other entry") }
    attempt("reading \(name)") { () throws(StoreError) in
      checkRead(name, (try bytes(of: serving), serving.variant.info))
    }
    if isSeen { historyCount += 1 }
  }

  private func bytes(of serving: Serving) throws(StoreError) -> [UInt8] {
    var all: [UInt8] = []
    for slice in serving.slices {
      switch slice.body {
      case .bytes(let bytes, _):
        all += bytes[Int(slice.range.lowerBound)..<Int(slice.range.upperBound)]
      case .file(let reader):
        reader.seek(to: slice.range.lowerBound)
        while reader.position < slice.range.upperBound {
          all += try reader.read(upTo: Int(slice.range.upperBound - reader.position))
        }
      }
    }
    return all
  }
}
